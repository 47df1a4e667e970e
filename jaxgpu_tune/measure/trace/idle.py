"""Why a GPU ran nothing: the host was late, it was launching kernel by kernel, or a peer was waited for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from .events import HOST, Trace, gpu_number
from .kinds import Work

__all__ = ["SHORT", "Cause", "HostCalls", "causes", "host_of"]

Cause = Literal["host", "launches", "peer"]
EXECUTES = re.compile(r"ExecuteThunks|LoadedExecutable_Execute|LoadedExecutable::Execute|ExecuteHelper")
OF_DEVICE = re.compile(r"^\[(\d+)\]")
SHORT = 20_000.0
"""Nanoseconds: the pause between two kernels that wait in a queue is a few microseconds; a longer one waits for something."""


class HostCalls(NamedTuple):
    """What the host did for one GPU: when each launch began, by correlation number, and when it ran programs, by start."""

    launches: Mapping[object, float]
    executes: tuple[tuple[float, float], ...]


def host_of(trace: Trace, gpu: str) -> HostCalls:
    """The host's side of one GPU: what says which GPU it is for and names another is left out."""
    number = gpu_number(gpu)
    launches: dict[object, float] = {}
    executes = []
    for event in trace.on(HOST):
        if "correlation_id" in event.stats:
            key = event.stats["correlation_id"]
            launches[key] = min(event.start_ns, launches.get(key, event.start_ns))
        elif EXECUTES.search(event.name):
            named = OF_DEVICE.match(event.name)
            if named is None or int(named.group(1)) == number:
                executes.append((event.start_ns, event.end_ns))
    return HostCalls(launches, tuple(_joined(executes)))


def _joined(intervals: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Their union, in order."""
    start = end = float("-inf")
    for first, last in sorted(intervals):
        if first > end:
            if end > start:
                yield start, end
            start, end = first, last
        end = max(end, last)
    if end > start:
        yield start, end


def causes(
    start: float, end: float, before: Work | None, after: Work | None, host: HostCalls
) -> Iterator[tuple[Cause, float]]:
    """(cause, nanoseconds) of a time in which a GPU ran nothing, between two things that it ran; they add up to it.

    Where what comes next had been launched before, the GPU waited on itself or on a peer: it counts as a peer's where communication
    is on either side and the pause is long. Where it was launched later, the host was late: with launching as far as it was running a
    program then, with everything else (data, Python) before. Where no launch is seen, short pauses count as launching, long ones as the host's.
    """
    launched = host.launches.get(after.event.stats.get("correlation_id")) if after else None
    beside = any(work is not None and work.kind == "communication" for work in (before, after))
    if launched is not None and launched <= start:
        yield ("peer" if beside and end - start > SHORT else "launches"), end - start
    elif launched is None and end - start <= SHORT:
        yield "launches", end - start
    else:
        running = _overlap(host.executes, start, end)
        yield "launches", running
        yield "host", end - start - running


def _overlap(intervals: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """How much of the time from ``start`` to ``end`` disjoint intervals cover."""
    first = bisect_right(intervals, (start,)) - 1
    last = bisect_left(intervals, (end,))
    return sum(max(0.0, min(b, end) - max(a, start)) for a, b in intervals[max(first, 0) : last])
