"""What is to be measured, in order of worth, and what of it is in the results already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.variants import DEFAULT, LATER, NOTHING, Variant, settings_of, variants_of
from benchmarks.workloads import WORKLOADS, Workload


class Job(NamedTuple):
    """One process: ``round`` counts those of the same kind; ``alone``: one device's share without communication.

    The default's in a later pass has the negative number of the pass as its round.
    ``turn``: the pass in which it takes turns with the default.
    """

    workload: str
    variant: Variant
    round: int
    alone: bool = False
    turn: int = 1

    @property
    def key(self) -> tuple[str, str, int, bool]:
        """What a result of this job says of itself."""
        return (self.workload, self.variant.name, self.round, self.alone)

    @property
    def one_gpu(self) -> bool:
        """Whether it leaves the other GPUs free."""
        return self.alone or WORKLOADS[self.workload].devices == "one"


def distinct(workload: Workload, base: Mapping[str, str]) -> tuple[list[Variant], dict[str, str]]:
    """The variants whose settings differ here, and for each other one the name of its equal."""
    first: dict[str, Variant] = {}
    same: dict[str, str] = {}
    for variant in variants_of(workload):
        settings = repr(settings_of(variant, base))
        equal = first.setdefault(settings, variant)
        if equal is not variant:
            same[variant.name] = equal.name
    return list(first.values()), same


def in_order(variants: Mapping[str, list[Variant]], rounds: int) -> list[Job]:
    """Three passes over the workloads: what the presets promise; shares alone, levels, AutoPGLE, published sets; the rest.

    In each the variants take turns with the default; every second round goes backwards, so that one-GPU jobs, of which
    two run at a time, change GPUs.
    """
    jobs: list[Job] = []
    for worth in (1, 2, LATER):
        if worth == 2:
            jobs += [Job(name, NOTHING, 0, True, worth) for name in variants if _shared(WORKLOADS[name])]
        for name, these in variants.items():
            jobs += _turns(name, [one for one in these if one.worth == worth], rounds if worth == 1 else 1, worth)
    return jobs


def _shared(workload: Workload) -> bool:
    return workload.devices == "all" and not workload.of_a_library


def _turns(name: str, variants: list[Variant], rounds: int, worth: int) -> Iterator[Job]:
    if not variants:
        return
    if worth > 1:
        yield Job(name, NOTHING, -worth, turn=worth)
    for number in range(rounds):
        for variant in variants if number % 2 == 0 else reversed(variants):
            yield Job(name, variant, number, turn=worth)


def pending(jobs: Iterable[Job], runs: Iterable[Mapping[str, Any]], machine: int) -> list[Job]:
    """The jobs without a result. On another machine the default is measured anew in each turn that it takes with them."""
    anywhere = {key_of(run) for run in runs}
    here = {key_of(run) for run in runs if run["machine"] == machine}
    left = {job.key for job in jobs if job.key not in anywhere}
    compared = {(job.workload, job.turn) for job in jobs if job.key in left}
    again = {
        job.key
        for job in jobs
        if job.variant.name == DEFAULT
        and not job.alone
        and (job.workload, job.turn) in compared
        and job.key not in here
    }
    return [job for job in jobs if job.key in left | again]


def key_of(run: Mapping[str, Any]) -> tuple[str, str, int, bool]:
    """The key of the job whose result this is."""
    return (run["workload"], run["variant"], run["round"], run["alone"])


def batches(jobs: list[Job], gpus: int) -> list[list[Job]]:
    """Jobs that run at the same time: two neighbours that need one GPU each; any other alone."""
    made: list[list[Job]] = []
    for job in jobs:
        if gpus > 1 and job.one_gpu and made and len(made[-1]) == 1 and made[-1][0].one_gpu:
            made[-1].append(job)
        else:
            made.append([job])
    return made
