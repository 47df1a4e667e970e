"""What presets, and each of their settings, cost in memory where it was measured. Written by ``python -m benchmarks.tables``.

It is XLA's own plan of what a step takes on one GPU beside its arguments (``python -m benchmarks.memory_of_settings``).
"""

from __future__ import annotations

from functools import cache

from ..values import Value
from ..wording import MIB, size_text
from .tables import read_measured

__all__ = ["MemoryCost", "memory_costs"]


class MemoryCost(Value):
    """``name``: a preset, or a flag of ``preset``. ``more_bytes``: what a step takes more with it than without; ``without_bytes``: what it takes without it."""

    name: str
    preset: str
    workload: str
    gpu: str
    count: int
    jaxlib: str
    more_bytes: int
    without_bytes: int

    @property
    def sentence(self) -> str:
        """Such as "180 MiB more, on top of 3.433 GiB a GPU: FSDP transformer (2 x NVIDIA H200, jaxlib 0.11.2, as part of fsdp)"."""
        amount = f"{size_text(abs(self.more_bytes))} {'more' if self.more_bytes > 0 else 'less'}"
        said = amount if abs(self.more_bytes) >= MIB else "nothing more"
        part = "" if self.name == self.preset else f", as part of {self.preset}"
        where = f"{self.count} x {self.gpu}, jaxlib {self.jaxlib}{part}"
        return f"{said}, on top of {size_text(self.without_bytes)} a GPU: {self.workload} ({where})"


def memory_costs(name: str) -> tuple[MemoryCost, ...]:
    """All that is known of one preset, or of one flag (without dashes)."""
    return tuple(cost for cost in _costs() if cost.name == name)


@cache
def _costs() -> tuple[MemoryCost, ...]:
    return tuple(MemoryCost(**one) for one in read_measured("memory_costs.json"))
