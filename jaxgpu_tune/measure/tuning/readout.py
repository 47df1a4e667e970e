"""What a run of a search tells: its time, its numbers, what was compiled, and where its seconds went. Pure, but for reading its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from ..endings import losses, numbers_in, once_each
from ..runs import RunOutcome
from ..watched import Process
from .how import How

__all__ = [
    "detail_of",
    "gpus_used",
    "how_numbers_differ",
    "milliseconds",
    "moments",
    "numbers_apart",
    "numbers_shown",
    "program_fingerprint",
    "untimed",
]

SHORTEST = 1e-3
"""Seconds that a whole run takes at least, where compilations side by side add up to more than that."""
COMPARED = 10
"""As many of the first numbers are compared."""
EMPTY = 2**20
"""Bytes up to which a GPU counts as not used."""
FEWEST = 2
"""As many bursts of steps a time needs. One alone does not tell how far it is off; without a whole one it is only known how fast steps were called."""
HEAD = 1_000_000
"""As many of the first bytes of the output are read for them."""


def gpus_used(one: Process) -> int | None:
    """How many GPUs hold something of a process; None where that is not told."""
    peaks = [device.get("peak_bytes") for device in one.devices if device.get("platform") == "gpu"]
    return None if None in peaks else sum(int(peak or 0) > EMPTY for peak in peaks)


def program_fingerprint(processes: Sequence[Process]) -> str:
    """The fingerprint of what was compiled, of a program of one process; a job's processes may differ."""
    seen = [one for one in processes if one.jax is not None]
    return seen[0].program if len(seen) == 1 else ""


def how_numbers_differ(found: Sequence[float], reference: Sequence[float], tolerance: float) -> str:
    """Where numbers differ by more than the tolerance or are not finite: a sentence, empty where they do not."""
    for place, (mine, other) in enumerate(zip(found, reference, strict=False), start=1):
        if isfinite(other) and not numbers_apart(mine, other) <= tolerance:
            return f"number {place} is {mine:g} instead of {other:g}, which is more than {tolerance:.2%} away"
    return ""


def numbers_apart(mine: float, other: float) -> float:
    """How far two numbers are from each other, relative; infinite where only one is finite."""
    if not (isfinite(mine) and isfinite(other)):
        return 0.0 if isfinite(mine) == isfinite(other) else float("inf")
    return abs(mine - other) / (max(abs(mine), abs(other)) or 1.0)


def numbers_shown(outcome: RunOutcome, how: How) -> tuple[float, ...]:
    """The first numbers of the program, to compare."""
    if outcome.output is None or not Path(outcome.output).exists():
        return ()
    with Path(outcome.output).open("rb") as file:
        text = file.read(HEAD).decode(errors="replace")
    found = numbers_in(how.numbers, text) if how.numbers else losses(text)
    return once_each(found, outcome.processes)[:COMPARED]


def milliseconds(outcome: RunOutcome, how: How) -> float | None:
    """What one step took, of the slowest process; a metric of which more is better is turned over.

    A whole run counts without its compilations: the first run of some settings compiles, later ones and those of a proof find it done.
    """
    if how.clock == "whole":
        return 1e3 * max(outcome.seconds - outcome.compile_seconds, SHORTEST)
    if how.clock == "metric":
        value = median(outcome.metric) if outcome.metric else 0.0
        return (1e3 / value if how.higher_is_better else value) if value > 0 else None
    leader = outcome.leader
    if leader is None or leader.period is None or leader.period.bursts < FEWEST or outcome.silent:
        return None
    alike = [one for one in outcome.processes if one.period and one.function == leader.function]
    return 1e3 * max(one.period.seconds for one in alike if one.period)


def untimed(outcome: RunOutcome, how: How) -> tuple[str, str]:
    """The failure of a run that ended well and has no time, and its cause."""
    if how.clock == "metric":
        found = "what matches is not above 0:" if outcome.metric else "nothing in its output matches"
        return "no-metric", f"{found} {how.metric!r}"
    return "no-steady-state", outcome.silent or "it ended before enough of it was seen"


def detail_of(outcome: RunOutcome, found: Sequence[float], cause: str) -> Mapping[str, Any]:
    """What else is kept of a run."""
    leader = outcome.leader
    return {
        "numbers": list(found),
        "cause": cause,
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "compile_seconds": round(outcome.compile_seconds, 3),
        "peak_bytes": outcome.peak_bytes,
        "clock": leader.clock if leader else "",
        "function": leader.function if leader else "",
        "gpus_used": gpus_used(leader) if leader else None,
        "kinds": list(leader.kinds) if leader else [],
        "error": leader.period.error if leader and leader.period else None,
        "processes": len([one for one in outcome.processes if one.period]),
        "moments": moments(leader, outcome.seconds) if leader else {},
    }


def moments(one: Process, seconds: float) -> dict[str, float | None]:
    """Where a run's seconds went, each since its start: jax imported, its first and last compilation, the window of the measurement, its report, its end."""
    compiles = sorted((found.at_s - found.seconds, found.at_s) for found in one.compilations)
    told = {
        "jax": one.jax_s,
        "compiling": compiles[0][0] if compiles else None,
        "compiled": max((end for _, end in compiles), default=None),
        "measuring": one.window_s[0] if one.window_s else None,
        "measured": one.window_s[-1] if one.window_s else None,
        "reported": one.seconds,
        "ended": seconds,
    }
    return {name: None if at is None else round(at, 2) for name, at in told.items()}
