"""The value of a run by the clock that a comparison settled for. Pure."""

from __future__ import annotations

from statistics import median

from .clock import Period, percentile
from .protocol import Protocol
from .runs import RunOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparison import Clock


__all__ = ["settled", "value_of"]


STEP_CLOCKS = ("marks", "calls", "trace")
"""By these it is the steps that are timed."""


def settled(outcome: RunOutcome, protocol: Protocol) -> tuple[Clock, str]:
    """The best clock that the reference's first run allows, by which all runs are timed, and the function whose calls it counts."""
    leader = outcome.leader
    if protocol.metric is not None:
        return "metric", ""
    if (
        not protocol.whole
        and leader is not None
        and leader.period is not None
        and leader.period.bursts
        and not outcome.silent
    ):
        return leader.clock, leader.function
    return ("whole", "") if outcome.ok else ("", "")


def value_of(outcome: RunOutcome, clock: Clock, protocol: Protocol) -> tuple[float | None, str]:
    """The run's value by the clock of the comparison, or why there is none."""
    if clock == "whole":
        return outcome.seconds, ""
    if clock == "metric":
        kept = outcome.metric[len(outcome.metric) // 5 :]
        return (median(kept), "") if kept else (None, f"its output holds nothing that matches {protocol.metric!r}")
    leader = outcome.leader
    if leader is None or leader.period is None:
        return None, outcome.silent or "no steady state was seen"
    if leader.clock != clock:
        return None, f"it was timed by {leader.clock}, the reference by {clock}; these cannot be compared"
    return _of_steps(leader.period, protocol.percentile)


def _of_steps(found: Period, share: float | None) -> tuple[float | None, str]:
    if share is None:
        return found.seconds, ""
    if not found.each:
        return None, "a percentile needs a program that waits for the device at each step; this one seems to run ahead"
    return percentile(found.values, share), ""
