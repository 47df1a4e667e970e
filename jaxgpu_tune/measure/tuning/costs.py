"""What a run costs, by those that were made: one that compiles, and one of what was compiled before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from ..search.trials import Config, Trial

__all__ = ["RISKY", "SLOWEST", "Costs", "costs_of", "hangs_after", "warm"]

RECENT = 7
SLACK = 1.03
SHORTEST = 1e-3
SLOWEST, RISKY = (3.0, 20.0), (1.5, 10.0)
"""A run counts as hung after so many times the longest run so far, and so many seconds more; what may hang, sooner."""


class Costs(NamedTuple):
    """Seconds of a run: ``new`` settings, and settings that ran before (``again``); what the shortest of those took (``least``)."""

    new: float
    again: float
    least: float


def costs_of(trials: Iterable[Trial], keeps: bool = True) -> Costs | None:
    """By the newest runs; None before any ended well.

    A run of known settings costs no less than one of new settings without compiling: a single quick one misleads nobody.

    ``keeps``: whether programs are kept for later runs. If so, what is compiled in a second run of the same settings counts for ``again``: later
    runs compile it, too. If not, ``again`` is without compiling.
    """
    first: list[float] = []
    started: list[float] = []
    again: list[float] = []
    seen: set[Config] = set()
    for trial in warm(trials):
        compiling = trial.detail.get("compile_seconds")
        if trial.config in seen:
            again.append(trial.seconds - (0.0 if keeps else compiling or 0.0))
        else:
            first.append(trial.seconds)
            started += [] if compiling is None else [trial.seconds - compiling]
        seen.add(trial.config)
    if not first:
        return None
    known = again or first
    least = max(min(known), SHORTEST)
    return Costs(_usual(first), max(_usual(known), _usual(started or known)) * SLACK, least)


def warm(trials: Iterable[Trial]) -> list[Trial]:
    """Those with a time, the very first with the seconds that it would have taken later.

    It reads Python and its libraries from a disk that may be slow, and no later one does. The second run of the same settings tells how long
    it takes without that, and without compiling.
    """
    timed = [trial for trial in trials if trial.ms is not None]
    if not timed:
        return []
    first, *others = timed
    compiling = first.detail.get("compile_seconds")
    second = next((trial.seconds for trial in others if trial.config == first.config), None)
    if compiling is None or second is None:
        return timed
    return [first._replace(seconds=min(first.seconds, second + compiling)), *others]


def hangs_after(took: Iterable[float], limit: tuple[float, float]) -> float:
    """Seconds, by those that the others took."""
    return limit[0] * max(took) + limit[1]


def _usual(seconds: Sequence[float]) -> float:
    return max(median(seconds[-RECENT:]), SHORTEST)
