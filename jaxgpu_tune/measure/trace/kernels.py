"""The kernels that own most of a step, by the line of source that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .kinds import Work
from .sweep import Span

__all__ = ["Kernel", "kernels_of"]

NUMBER = re.compile(r"([._]\d+)+$")
NS = 1e-6


class Kernel(NamedTuple):
    """Kernels of one kind and one source line (or, where no line is known, of one name) in a mean step.

    ``ms`` are those that they own, so that all rows together are the step's computing, copies and CUDA graphs; ``runs``: how many a step
    own any; ``name``: the one that owns most; ``scope``: JAX's name stack.
    """

    name: str
    kind: str
    ms: float
    runs: float
    source: str
    scope: str


def kernels_of(owned: Iterable[Span], steps: int) -> tuple[Kernel, ...]:
    """Most time first."""
    groups: dict[tuple[str, str], dict[int, tuple[Work, float]]] = {}
    for span in owned:
        work = span.owner
        if work is None or work.kind == "communication":
            continue
        runs = groups.setdefault((work.kind, work.source or NUMBER.sub("", work.op)), {})
        _, before = runs.get(id(work), (work, 0.0))
        runs[id(work)] = work, before + span.end - span.start
    found = [_kernel(kind, list(runs.values()), steps) for (kind, _), runs in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.ms, one.name)))


def _kernel(kind: str, runs: list[tuple[Work, float]], steps: int) -> Kernel:
    by_op: dict[str, float] = {}
    for work, length in runs:
        by_op[work.op] = by_op.get(work.op, 0.0) + length
    longest = max(sorted(by_op), key=lambda op: by_op[op])
    work = next(work for work, _ in runs if work.op == longest)
    return Kernel(longest, kind, NS * sum(by_op.values()) / steps, len(runs) / steps, work.source, work.scope)
