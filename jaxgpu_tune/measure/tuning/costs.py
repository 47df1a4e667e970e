"""What a run costs, by those that were made: one that compiles, and one of what was compiled before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from ..search.trials import Config, Trial

__all__ = ["RISKY", "SLOWEST", "Costs", "costs_of", "hangs_after"]

RECENT = 7
SLACK = 1.03
SHORTEST = 1e-3
SLOWEST, RISKY = (3.0, 20.0), (1.5, 10.0)
"""A run counts as hung after so many times the longest run so far, and so many seconds more; what may hang, sooner."""


class Costs(NamedTuple):
    """Seconds of a run: ``new`` settings, and settings that ran before (``again``)."""

    new: float
    again: float


def costs_of(trials: Iterable[Trial], keeps: bool = True) -> Costs | None:
    """By the newest runs; None before any ended well.

    ``keeps``: whether programs are kept for later runs. If so, what is compiled in a second run of the same settings counts for ``again``: later
    runs compile it, too. If not, ``again`` is without compiling.
    """
    first: list[float] = []
    again: list[float] = []
    seen: set[Config] = set()
    for trial in trials:
        if trial.ms is None:
            continue
        compiling = 0.0 if keeps or trial.config not in seen else float(trial.detail.get("compile_seconds") or 0.0)
        (again if trial.config in seen else first).append(trial.seconds - compiling)
        seen.add(trial.config)
    if not first:
        return None
    return Costs(_usual(first), _usual(again or first) * SLACK)


def hangs_after(trials: Iterable[Trial], limit: tuple[float, float]) -> float | None:
    """Seconds, by what the others took; None before any ended well."""
    took = [trial.seconds for trial in trials if trial.ms is not None]
    return limit[0] * max(took) + limit[1] if took else None


def _usual(seconds: Sequence[float]) -> float:
    return max(median(seconds[-RECENT:]), SHORTEST)
