"""A few steps of each GPU as lanes of blocks, for drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .trace.events import Trace
from .trace.kinds import Work, works_on
from .trace.reduction import GpuStep, Reduction

__all__ = ["Block", "Lane", "Timeline", "timeline_of"]

STEPS = 2
MOST = 30_000
"""So many blocks a page draws smoothly; of more the shortest are left out, which is said."""
LANES = ("computing", "copies", "communication", "graph")
US = 1e-3


class Block(NamedTuple):
    """Something that ran: microseconds from the timeline's zero."""

    start_us: float
    length_us: float
    name: str
    kind: str
    detail: str


class Lane(NamedTuple):
    """What one GPU ran of one kind: blocks of a lane do not overlap."""

    gpu: str
    name: str
    blocks: tuple[Block, ...]


class Timeline(NamedTuple):
    """``edges_us``: where steps begin, by GPU; ``left_out``: how many short blocks are not in the lanes."""

    lanes: tuple[Lane, ...] = ()
    edges_us: tuple[tuple[str, tuple[float, ...]], ...] = ()
    left_out: int = 0


def timeline_of(trace: Trace, reduction: Reduction, most: int = MOST) -> Timeline:
    """The middle STEPS of those that were traced, of every GPU that ran something."""
    if not reduction.gpus:
        return Timeline()
    start, end = _window(reduction.gpus[0])
    inside = {
        gpu.gpu: [w for w in works_on(trace, gpu.gpu) if w.start < end and w.end > start] for gpu in reduction.gpus
    }
    shortest, left_out = _cut(inside.values(), most)
    lanes = tuple(
        lane
        for gpu, works in inside.items()
        for lane in _lanes(gpu, [work for work in works if work.end - work.start >= shortest], start)
    )
    edges = tuple(
        (g.gpu, tuple((edge - start) * US for edge in g.edges if start <= edge <= end)) for g in reduction.gpus
    )
    return Timeline(lanes, edges, left_out)


def _window(gpu: GpuStep) -> tuple[float, float]:
    first = max(0, (len(gpu.edges) - 1 - STEPS) // 2)
    return gpu.edges[first], gpu.edges[min(first + STEPS, len(gpu.edges) - 1)]


def _cut(groups: Iterable[Sequence[Work]], most: int) -> tuple[float, int]:
    """The length below which blocks are left out, and how many that are; of blocks of one length all stay or none."""
    lengths = sorted((work.end - work.start for works in groups for work in works), reverse=True)
    if len(lengths) <= most:
        return 0.0, 0
    shortest = min((length for length in lengths if length > lengths[most]), default=lengths[0])
    return shortest, sum(length < shortest for length in lengths)


def _lanes(gpu: str, works: Sequence[Work], zero: float) -> Iterator[Lane]:
    """A lane a kind; where several of a kind run at once, more lanes of it."""
    for kind in LANES:
        rows: list[list[Work]] = []
        for work in (work for work in works if work.kind == kind):
            row = next((row for row in rows if row[-1].end <= work.start), None)
            if row is None:
                rows.append([work])
            else:
                row.append(work)
        for number, row in enumerate(rows):
            yield Lane(
                gpu, kind if number == 0 else f"{kind} ({number + 1})", tuple(_block(work, zero) for work in row)
            )


def _block(work: Work, zero: float) -> Block:
    detail = " ".join(part for part in (work.collective, work.source, work.scope) if part)
    return Block((work.start - zero) * US, (work.end - work.start) * US, work.op, work.kind, detail)
