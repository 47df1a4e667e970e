"""What each preset was measured to gain: workload, GPUs, jaxlib, speed. Written by ``python -m benchmarks.tables``."""

from __future__ import annotations

from functools import cache

from ..values import Value
from .tables import read_measured

__all__ = ["Gain", "gains_of"]


class Gain(Value):
    """One measurement: ``speed`` is the default's step time by the preset's, with the smallest and largest over all pairs of runs.

    ``verdict``: "faster", "slower", "no-difference", or "undecided" where there were fewer pairs than a verdict takes.
    """

    preset: str
    workload: str
    gpu: str
    count: int
    jaxlib: str
    speed: float
    low: float
    high: float
    pairs: int
    verdict: str


def gains_of(preset: str) -> tuple[Gain, ...]:
    """All of one preset, in the order of the suite's workloads."""
    return tuple(gain for gain in _gains() if gain.preset == preset)


@cache
def _gains() -> tuple[Gain, ...]:
    return tuple(Gain(**one) for one in read_measured("gains.json"))
