"""What derived settings hang on, read off the plan itself: the "auto" fraction, whether JAX is for the CPU, unified memory. Pure.

Never from raw text: a flag may come from a preset, need a repair, or be written in another release's words.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..knowledge.pool import registering_flags
from ..values import Value
from ..wording import is_true
from .base.wish import Wish
from .settings.pool_variables import COLLECTIVE_POOL, UNIFIED, has_unified_memory

__all__ = ["InForce", "in_force"]

PLATFORMS = "jax_platforms"


class InForce(Value):
    """``cpu``: JAX will start on the CPU alone; ``unified``: memory may exceed the GPU's; ``registers``: NCCL registers XLA's buffers.

    ``collective_bytes``: of the second pool, from which registered buffers come; 0 where none is asked for.
    """

    cpu: bool = False
    unified: bool = False
    registers: bool = False
    collective_bytes: int = 0


def in_force(wishes: Iterable[Wish]) -> InForce:
    """As the merged wishes have it."""
    flags: dict[str, str] = {}
    others: dict[str, str] = {}
    for wish in wishes:
        if wish.value is not None:
            (flags if wish.kind == "xla_flag" else others)[wish.name] = str(wish.value)
    pool = others.get(COLLECTIVE_POOL, "").strip()
    return InForce(
        cpu=_is_cpu(others.get(PLATFORMS) or others.get(PLATFORMS.upper()) or ""),
        unified=has_unified_memory({UNIFIED: others.get(UNIFIED)}),
        registers=any(is_true(flags.get(name)) for name in registering_flags()),
        collective_bytes=int(pool) * 2**20 if pool.isascii() and pool.isdigit() else 0,
    )


def _is_cpu(text: str) -> bool:
    if not text:
        return False
    from .settings.platforms import names_of

    return names_of(text) == ("cpu",)
