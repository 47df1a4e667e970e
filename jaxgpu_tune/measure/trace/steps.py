"""Where steps begin and end: on a GPU by what repeats once a step, on the host by the calls of the step's function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ..observer.compiled import compiled_name
from .events import HOST, Event, Trace
from .kinds import Work

__all__ = ["Steps", "calls_of", "dominant_module", "host_calls", "steps_on"]

CALL = re.compile(r"^PjitFunction\((.*)\)$")
SHARE = 0.02
"""So large a share of a program's instructions must run once a step for their count to be taken as that of the steps."""
EVEN = 0.02
"""Gaps that differ by less of their median count as even."""


class Steps(NamedTuple):
    """Moments at which a step begins; each step lasts until the next one's. ``by``: what repeats ("" where nothing did)."""

    edges: tuple[float, ...]
    module: str
    by: str

    @property
    def number(self) -> int:
        """How many whole steps."""
        return len(self.edges) - 1


def host_calls(trace: Trace) -> dict[str, tuple[Event, ...]]:
    """For each jitted function its calls in a trace, by start: only the outermost events, for JAX writes two a call, one in the other."""
    found: dict[str, list[Event]] = {}
    lines: dict[str, list[Event]] = {}
    for event in trace.on(HOST):
        if CALL.match(event.name):
            lines.setdefault(event.line, []).append(event)
    for events in lines.values():
        for event in _outermost(events):
            found.setdefault(CALL.sub(r"\1", event.name), []).append(event)
    return {name: tuple(sorted(events, key=lambda event: event.start_ns)) for name, events in found.items()}


def _outermost(events: Iterable[Event]) -> Iterable[Event]:
    """Those that lie in no other one of the same name."""
    ends: dict[str, float] = {}
    for event in sorted(events, key=lambda event: (event.start_ns, -event.duration_ns)):
        if event.end_ns > ends.get(event.name, float("-inf")):
            ends[event.name] = event.end_ns
            yield event


def calls_of(module: str, calls: Mapping[str, Sequence[Event]]) -> int | None:
    """How often the host called the function that a program was compiled from; None: not seen."""
    name = module.rstrip("_")
    return next((len(events) for function, events in calls.items() if compiled_name(function) == name), None)


def dominant_module(works: Iterable[Work]) -> str:
    """The program that took most of a GPU's time."""
    took: Counter[str] = Counter()
    for work in works:
        took[work.module] += int(work.end - work.start)
    return max(sorted(took), key=lambda name: took[name], default="")


def steps_on(works: Sequence[Work], calls: Mapping[str, Sequence[Event]]) -> Steps:
    """The whole steps of one GPU that ran something; where nothing repeats all of it is one step."""
    module = dominant_module(works)
    starts: dict[str, list[float]] = {}
    for work in works:
        if work.module == module and not work.op.startswith("CUDA graph"):
            starts.setdefault(work.op, []).append(work.start)
    # A trace begins and ends within steps, so what runs once a step may be there once more.
    count = _count(Counter(len(found) for found in starts.values()), calls_of(module, calls))
    anchors = [(_spread(found), found[0], op) for op, found in starts.items() if len(found) in (count, count + 1)]
    if count < 2 or not anchors:
        return Steps((min(w.start for w in works), max(w.end for w in works)), module, "")
    even = 2 * min(anchors)[0] + EVEN
    _, op = min((first, op) for spread, first, op in anchors if spread <= even)
    return Steps(tuple(starts[op]), module, op)


def _count(counts: Counter[int], called: int | None) -> int:
    """How many steps began: the count nearest to the host's calls; without those the smallest that several instructions share."""
    several = sorted(count for count in counts if count >= 2)
    if called and called >= 2 and several:
        return min(several, key=lambda count: (abs(count - called), -counts[count]))
    enough = max(1, SHARE * sum(counts.values()))
    return next((count for count in several if counts[count] >= enough), 0)


def _spread(starts: Sequence[float]) -> float:
    """How uneven the gaps are: the largest distance from their median, as a share of it."""
    gaps = [then - now for now, then in pairwise(starts)]
    middle = median(gaps) if gaps else 0.0
    return max(abs(gap - middle) for gap in gaps) / middle if middle else float("inf")
