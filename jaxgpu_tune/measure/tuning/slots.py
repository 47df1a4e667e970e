"""Several candidates at a time, each on a GPU of its own: where they run, when that is allowed, and what runs together.

Only the search does this: the proof runs alone. First the program runs as it is on all of them at once. If each run is as fast as it
was alone, neighbours do not disturb, and the search goes on side by side.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from typing import NamedTuple

from ...model import Machine
from ..search.trials import Step, Trial

__all__ = [
    "BESIDE",
    "DISTURBS",
    "Place",
    "Slot",
    "at_once",
    "is_disturbed",
    "judged",
    "on_its_cores",
    "slots_of",
    "steps_together",
]

Place = Callable[[Step, int, "float | None", Event], Trial]
"""Runs a step, with its number and its limit in seconds, beside the other places; ended where the event is set."""
BESIDE = ("toggle", "prune")
"""The purposes of the steps that may run side by side."""
DISTURBED, DISTURBS = 1.02, "disturbed"
"""A run beside others may take this many times what it took alone; and how a run that took longer has failed."""


class Slot(NamedTuple):
    """A place for one run: ``gpu`` as CUDA_VISIBLE_DEVICES takes it, ``cores`` of the host (empty: any)."""

    gpu: str
    cores: frozenset[int] = frozenset()

    @property
    def environ(self) -> dict[str, str]:
        """What its process sees."""
        return {"CUDA_VISIBLE_DEVICES": self.gpu}


def slots_of(machine: Machine, first: Trial) -> tuple[Slot, ...]:
    """One for each GPU, where the program's first run was one process that used one GPU of several; else none."""
    gpus = machine.gpus or ()
    alone = first.detail.get("processes") == 1 and first.detail.get("gpus_used") == 1
    if len(gpus) < 2 or not alone:
        return ()
    names = [gpu.uuid or str(gpu.index) for gpu in gpus]
    return tuple(map(Slot, names, _shares(len(gpus))))


def judged(trials: Sequence[Trial], alone: float | None) -> list[Trial]:
    """The runs of the program as it is, beside each other: all of them fail where one failed, or was slower than ``alone`` (ms)."""
    disturbed = any(trial.ms is None or alone is None or trial.ms > DISTURBED * alone for trial in trials)
    return [_disturbed(trial) if disturbed else trial for trial in trials]


def _disturbed(trial: Trial) -> Trial:
    """How it failed is its neighbours' doing: alone, the program need not fail like that."""
    cause = ": ".join(filter(None, (trial.failure, trial.detail.get("cause", ""))))
    return trial._replace(failure=DISTURBS, detail={**trial.detail, "cause": cause})


def is_disturbed(trials: Iterable[Trial]) -> bool | None:
    """Whether the program as it is was slower beside others than alone; None: not tried yet."""
    seen = [trial.failure for trial in trials if "slot" in trial.detail and trial.purpose == "start"]
    return any(seen) if seen else None


def steps_together(first: Step, count: int, ahead: Callable[[tuple[Step, ...]], Step | None]) -> tuple[Step, ...]:
    """What to run at a time: this step, and what would come next if all went as expected. ``ahead``: the step after some others."""
    steps: tuple[Step, ...] = (first,)
    while first.purpose in BESIDE and len(steps) < count:
        step = ahead(steps)
        if step is None or step.purpose != first.purpose or step.config in {one.config for one in steps}:
            break
        steps = (*steps, step)
    return steps


def at_once(runs: Sequence[Callable[[Event], Trial]]) -> list[Trial]:
    """The trials of runs at the same time, in their order; the seconds that they took together are shared in the budget.

    What interrupts it, as Ctrl-C does, comes through once all of them are told to end, and have.
    """
    begun, stop = time.monotonic(), Event()
    with ThreadPoolExecutor(len(runs)) as pool:
        try:
            trials = [one.result() for one in [pool.submit(run, stop) for run in runs]]
        except BaseException:
            stop.set()
            raise
    spent = round((time.monotonic() - begun) / len(runs), 3)
    return [
        trial._replace(detail={"spent": spent, **trial.detail, "slot": number}) for number, trial in enumerate(trials)
    ]


@contextmanager
def on_its_cores(slot: Slot) -> Iterator[None]:
    """What this thread starts meanwhile keeps to the slot's share of the cores (Linux)."""
    before = os.sched_getaffinity(0) if slot.cores and hasattr(os, "sched_getaffinity") else None
    if before is None:
        yield
        return
    with suppress(OSError):
        os.sched_setaffinity(0, slot.cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _shares(count: int) -> list[frozenset[int]]:
    """The cores of this process in so many equal parts; all for each where there are too few."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    size = len(cores) // count
    return [frozenset(cores[n * size : (n + 1) * size]) for n in range(count)]
