"""What is to be measured, in order of worth, and what of it is in the results already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from benchmarks.tried import FILLS, FIRST, LATER, NOTHING, SECOND, Variant
from benchmarks.variants import DEFAULT, settings_of, variants_of
from benchmarks.workloads import WORKLOADS, Workload

Key = tuple[str, str, int, int]


class Job(NamedTuple):
    """One process. ``turn``: the variants of one worth, which take turns with the default; ``round``: a pair of each with it."""

    workload: str
    variant: Variant
    turn: int
    round: int

    @property
    def key(self) -> Key:
        """What a result of this job says of itself."""
        return (self.workload, self.variant.name, self.turn, self.round)

    @property
    def one_gpu(self) -> bool:
        """Whether it leaves the other GPUs free."""
        return WORKLOADS[self.workload].devices == "one"


class Phase(NamedTuple):
    """What is done before the next is begun: of one worth, on one GPU each or on several."""

    one_gpu: bool
    jobs: tuple[Job, ...]


def distinct(workload: Workload, base: Mapping[str, str]) -> tuple[list[Variant], dict[str, str]]:
    """The variants whose settings differ here, and for each other one the name of its equal."""
    first: dict[str, Variant] = {}
    same: dict[str, str] = {}
    for variant in variants_of(workload):
        settings = repr((settings_of(variant, base), variant.processes))
        equal = first.setdefault(settings, variant)
        if equal is not variant:
            same[variant.name] = equal.name
    return list(first.values()), same


def in_order(variants: Mapping[str, list[Variant]], rounds: int) -> list[Job]:
    """All of them: what presets promise, then what is tried on their workloads and published sets, then the rest."""
    return [
        job
        for worth in (FIRST, SECOND, LATER)
        for name, these in variants.items()
        for job in _turn(name, [one for one in these if one.worth == worth and one is not NOTHING], worth, rounds)
    ]


def _turn(name: str, variants: list[Variant], turn: int, rounds: int) -> Iterator[Job]:
    """The default and the variants, there and back again, so that a drift hits all alike."""
    yield from (Job(name, one, turn, FILLS) for one in variants if one.kept)
    there = [NOTHING, *variants] if variants else []
    for number in range(rounds):
        for variant in there if number % 2 == 0 else reversed(there):
            yield Job(name, variant, turn, number)


def pending(jobs: Iterable[Job], runs: Iterable[Mapping[str, Any]], machine: int) -> list[Job]:
    """The jobs without a result. A default is measured anew where another machine's cannot be compared with.

    A process that fills a folder is needed wherever one that finds it is left: folders do not outlast the suite. A variant that
    failed is not tried again.
    """
    runs = [run for run in runs if "turn" in run]
    bad = failed(runs)
    jobs = [job for job in jobs if (job.workload, job.variant.name) not in bad]
    anywhere = {key_of(run) for run in runs}
    here = {key_of(run) for run in runs if run["machine"] == machine}
    left = [job for job in jobs if job.round != FILLS and job.variant.name != DEFAULT and job.key not in anywhere]
    blocks = {_block(job) for job in left}
    filled = {(job.workload, job.turn, job.variant.name) for job in left}
    beside = {job.key for job in jobs if job.variant.name == DEFAULT and _block(job) in blocks and job.key not in here}
    fills = {job.key for job in jobs if job.round == FILLS and (job.workload, job.turn, job.variant.name) in filled}
    wanted = {job.key for job in left} | beside | fills
    return [job for job in jobs if job.key in wanted]


def failed(runs: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Workload and variant of each run that failed."""
    return {(run["workload"], run["variant"]) for run in runs if "error" in run}


def _block(job: Job) -> tuple[str, int, int]:
    return (job.workload, job.turn, job.round)


def key_of(run: Mapping[str, Any]) -> Key:
    """The key of the job whose result this is."""
    return (run["workload"], run["variant"], run["turn"], run["round"])


def phases(jobs: Iterable[Job]) -> list[Phase]:
    """By worth; of the first, what needs one GPU comes first, of others last."""
    ordered = sorted(jobs, key=lambda job: (job.turn, job.one_gpu == (job.turn > FIRST)))
    groups = groupby(ordered, key=lambda job: (job.turn, job.one_gpu))
    return [Phase(one_gpu, tuple(group)) for (_, one_gpu), group in groups]


def lanes(jobs: Sequence[Job], count: int) -> list[list[Job]]:
    """The jobs of each lane, about as many in each: a workload stays in one, so that what is compared ran on the same GPUs."""
    made: list[list[Job]] = [[] for _ in range(count)]
    by_workload = {
        name: [job for job in jobs if job.workload == name] for name in dict.fromkeys(j.workload for j in jobs)
    }
    for these in by_workload.values():
        min(made, key=len).extend(these)
    return made
