"""One owner for every moment of a GPU: a sweep over what it ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from .kinds import Work

__all__ = ["Span", "spans"]

RANK = {"computing": 0, "copies": 1, "communication": 3}
WHOLE_GRAPH, SEEN_GRAPH = 2, 4
"""Who owns a moment in which several things run: the lowest. A graph shown as one event stands for work of all kinds; where
its kernels are shown, the graph itself owns only what is between them."""
COMMUNICATION = RANK["communication"]


class Span(NamedTuple):
    """From ``start`` to ``end`` one thing owned the GPU (None: it ran nothing); ``hidden``: the communication that ran beside it."""

    start: float
    end: float
    owner: Work | None
    hidden: Work | None = None


def rank(work: Work) -> int:
    """The place of what it is among those that may own a moment."""
    return RANK.get(work.kind, WHOLE_GRAPH if work.whole else SEEN_GRAPH)


def spans(works: Iterable[Work], start: float, end: float) -> Iterator[Span]:
    """Spans without a gap from ``start`` to ``end``; among several of one rank the owner is the one that began first."""
    inside = sorted((w for w in works if w.start < end and w.end > start), key=lambda w: (w.start, -w.end, w.op))
    times = sorted({start, end, *(t for w in inside for t in (w.start, w.end) if start < t < end)})
    running: list[list[tuple[int, float]]] = [[] for _ in range(SEEN_GRAPH + 1)]
    at = 0
    for now, then in pairwise(times):
        while at < len(inside) and inside[at].start <= now:
            heappush(running[rank(inside[at])], (at, inside[at].end))
            at += 1
        yield _span(now, then, running, inside)


def _span(now: float, then: float, running: list[list[tuple[int, float]]], inside: Sequence[Work]) -> Span:
    for heap in running:
        while heap and heap[0][1] <= now:
            heappop(heap)
    first = next((number for number, heap in enumerate(running) if heap), None)
    if first is None:
        return Span(now, then, None)
    beside = running[COMMUNICATION] if first != COMMUNICATION else []
    return Span(now, then, inside[running[first][0][0]], inside[beside[0][0]] if beside else None)
