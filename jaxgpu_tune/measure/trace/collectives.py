"""Collectives, one by one over the GPUs, and summed by kind, size and source line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from .kinds import Work

__all__ = ["Collective", "Occurrence", "collectives_of", "waits"]

NS = 1e-6


class Occurrence(NamedTuple):
    """One collective that ran; nanoseconds in which it was the one exposed, hidden, and exposed before ``joined``, when its last peer began."""

    work: Work
    joined: float
    exposed: float = 0.0
    hidden: float = 0.0
    waiting: float = 0.0


class Collective(NamedTuple):
    """The collectives of one kind, size and source line in a mean step.

    ``runs`` a step; ``bytes`` of the whole array, each (None: not known); milliseconds a step: ``ms`` = ``exposed_ms`` + ``hidden_ms``,
    of the exposed ``waiting_ms`` for the last GPU to begin. ``gb_per_s``: what each GPU sent, per second from when all had begun, in the
    median (NCCL's bus bandwidth: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).
    """

    kind: str
    runs: float
    bytes: int | None
    ms: float
    exposed_ms: float
    hidden_ms: float
    waiting_ms: float
    gb_per_s: float | None
    source: str
    scope: str
    ops: tuple[str, ...]


def waits(works: Mapping[str, Sequence[Work]]) -> dict[str, dict[int, float]]:
    """For each GPU's collectives (by ``id``) when the last of the GPUs began it: the same instruction at the same time elsewhere."""
    runs = {gpu: _by_op(found) for gpu, found in works.items()}
    return {
        gpu: {
            id(one): _last_start(one, [found.get(op, []) for found in runs.values()])
            for op, several in mine.items()
            for one in several
        }
        for gpu, mine in runs.items()
    }


def _by_op(works: Iterable[Work]) -> dict[str, list[Work]]:
    found: dict[str, list[Work]] = {}
    for work in works:
        if work.kind == "communication":
            found.setdefault(work.op, []).append(work)
    return found


def _last_start(one: Work, elsewhere: Iterable[Sequence[Work]]) -> float:
    """When the last of the GPUs began it: on each, the run that overlaps most with this one is the same."""
    latest = one.start
    for works in elsewhere:
        at = bisect_left(works, one.end, key=lambda work: work.start)
        same = max(
            works[max(at - 2, 0) : at],
            key=lambda work: min(work.end, one.end) - max(work.start, one.start),
            default=one,
        )
        latest = max(latest, same.start)
    return latest


def collectives_of(occurrences: Iterable[Occurrence], steps: int, peers: int) -> tuple[Collective, ...]:
    """Summed by kind, size and source line; most time first."""
    groups: dict[tuple[str, int | None, str], list[Occurrence]] = {}
    for one in occurrences:
        groups.setdefault((one.work.collective, _bytes(one.work), one.work.source), []).append(one)
    found = [_collective(key, several, steps, peers) for key, several in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.ms, one.kind, one.source, one.bytes or 0)))


def _collective(key: tuple[str, int | None, str], several: list[Occurrence], steps: int, peers: int) -> Collective:
    kind, size, source = key
    exposed, hidden = (NS * sum(part) / steps for part in zip(*((o.exposed, o.hidden) for o in several), strict=True))
    return Collective(
        kind=kind,
        runs=len(several) / steps,
        bytes=size,
        ms=exposed + hidden,
        exposed_ms=exposed,
        hidden_ms=hidden,
        waiting_ms=NS * sum(one.waiting for one in several) / steps,
        gb_per_s=_bandwidth(several, size, peers),
        source=source,
        scope=max((one.work.scope for one in several), key=len),
        ops=tuple(sorted({one.work.op for one in several})),
    )


def _bytes(work: Work) -> int | None:
    """Of the whole array: what an all-gather gives, what a reduce-scatter takes; of a copy, what it says."""
    if work.instruction is not None:
        return max(work.instruction.operand_bytes, work.instruction.result_bytes) or None
    details = dict(
        part.split(":", 1) for part in str(work.event.stats.get("memcpy_details", "")).split() if ":" in part
    )
    size = details.get("size", details.get("num_bytes", ""))
    return int(size) if size.isdigit() else None


def _bandwidth(several: Sequence[Occurrence], size: int | None, peers: int) -> float | None:
    took = [one.work.end - one.joined for one in several if one.work.end > one.joined]
    if size is None or not took:
        return None
    return size * _sent(several[0].work, max(peers, 2)) / median(took)


def _sent(work: Work, peers: int) -> float:
    """What each GPU sends, as a share of the array's bytes."""
    known = work.instruction
    if known and work.collective in ("all-gather", "reduce-scatter") and known.operand_bytes and known.result_bytes:
        sizes = sorted((known.operand_bytes, known.result_bytes))
        return 1 - sizes[0] / sizes[1] or 1.0
    share = (peers - 1) / peers
    return {"all-reduce": 2 * share, "all-gather": share, "reduce-scatter": share, "all-to-all": share}.get(
        work.collective, 1.0
    )
