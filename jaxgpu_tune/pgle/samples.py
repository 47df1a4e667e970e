"""From kernels that were seen to what each instruction costs.

Computing: the percentile over all steps and GPUs. Communicating: a collective's kernel starts when its own GPU is
ready and then waits for the others, so the longest one is mostly waiting; what the transfer takes is the shortest
over the GPUs of the same execution (the last to come waits for nobody), and the percentile is taken over the
executions. JAX's own converter takes the mean of all, waiting included (in a trace of FSDP on two H200 1 to 8 % more,
of a small one 76 %), and of all programs that have such a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .cost_profile import Cost, CostProfile, is_communication, xla_percentile
from .program import Program

__all__ = ["Sample", "by_module", "costs_of_samples", "main_module"]

NCCL = "nccl"


class Sample(NamedTuple):
    """One kernel or copy that ran for an instruction. Times in nanoseconds.

    ``place``: which GPU of which process; ``execution``: a number that all kernels of one execution share, where the
    trace has it.
    """

    module: str
    instruction: str
    place: str
    kernel: str
    start: float
    took: float
    execution: int | None = None


def by_module(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """The samples of each program, the one that takes most time first."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.module, []).append(sample)
    return dict(sorted(found.items(), key=lambda item: -sum(one.took for one in item[1])))


def main_module(samples: Iterable[Sample]) -> str:
    """The program that takes most of the time; empty if there is none."""
    return next(iter(by_module(samples)), "")


def costs_of_samples(samples: Iterable[Sample], percent: float = 50, program: Program | None = None) -> CostProfile:
    """The profile of one program's samples.

    Its instructions by the names that the scheduler looks up, where ``program`` tells.
    """
    names = program.scheduled_names if program else {}
    grouped: dict[str, dict[str, list[Sample]]] = {}
    for sample in samples:
        name = names.get(sample.instruction, sample.instruction)
        grouped.setdefault(name, {}).setdefault(sample.place, []).append(sample)
    return CostProfile(tuple(Cost(name, _cost(name, places, percent)) for name, places in grouped.items())).sorted()


def _cost(name: str, places: Mapping[str, list[Sample]], percent: float) -> float:
    """Microseconds."""
    times = {place: _executions(found) for place, found in places.items()}
    talks = is_communication(name) or any(NCCL in one.kernel for found in places.values() for one in found)
    if not talks:
        return xla_percentile([took for found in times.values() for took in found], percent) / 1e3
    if len({len(found) for found in times.values()}) == 1:
        return xla_percentile([min(together) for together in zip(*times.values(), strict=True)], percent) / 1e3
    return min(xla_percentile(found, percent) for found in times.values()) / 1e3


def _executions(samples: Sequence[Sample]) -> list[float]:
    """What each execution of one instruction on one GPU took, in order.

    From its first kernel's start to its last one's end.
    """
    if any(sample.execution is None for sample in samples):
        return _counted(samples)
    found: dict[int, tuple[float, float]] = {}
    for one in sorted(samples, key=lambda sample: sample.start):
        key = one.execution or 0
        first, last = found.get(key, (one.start, 0.0))
        found[key] = min(first, one.start), max(last, one.start + one.took)
    return [last - first for first, last in found.values()]


def _counted(samples: Sequence[Sample]) -> list[float]:
    """The sum of each execution's kernels, where no number joins them.

    A kernel that ran twice as often as another one runs twice an execution.
    """
    kernels: dict[str, list[Sample]] = {}
    for one in sorted(samples, key=lambda sample: sample.start):
        kernels.setdefault(one.kernel, []).append(one)
    count = min(map(len, kernels.values()))
    times = [0.0] * count
    for found in kernels.values():
        each = max(1, round(len(found) / count))
        for number, one in enumerate(found[: count * each]):
            times[number // each] += one.took
    return times
