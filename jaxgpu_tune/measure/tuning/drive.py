"""The loop of a search: what to run next, run it, keep it, say how it stands; within a budget of time that its own past counts against."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from ...errors import JaxGpuTuneError
from ...model import Finding
from ..doubts import REFUSED
from ..search.search import Search
from ..search.trials import NOTHING, Risk, Step, Trial
from .budget import next_step, run_limit, step_after
from .how import output_of
from .journal import Journal
from .slots import BESIDE, Place, at_once, is_disturbed, judged, steps_together
from .space import Space

__all__ = ["FAILS", "Runner", "Tell", "drive", "resumed"]


Tell = Callable[[Search, float], None]
"""Told after each trial how the search stands, and the seconds that are left."""


class Runner(Protocol):
    """Runs steps. What has a body here may be left as it is: such a runner runs one step at a time and learns nothing from it."""

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        """What came of it. ``ahead``: what comes next, probably."""

    def places(self, first: Trial) -> Sequence[Place]:  # noqa: ARG002 - a runner may look at it
        """Where several can run at a time, after the program's first run; none where only one can."""
        return ()

    def close(self) -> None:
        """Nothing more comes now, or nothing by itself."""
        return

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What should be known of the machine's times."""
        return ()

    @property
    def ends(self) -> bool:
        """Whether it can end what hangs; else nothing is tried that may."""

    @property
    def keeps(self) -> bool:
        """Whether what was compiled once is there for all later runs."""

    def learn(self, trial: Trial) -> None:  # noqa: ARG002 - as for places
        """A trial of this or an earlier start."""
        return


def resumed(space: Space, run: Runner, journal: Journal) -> Search:
    """The search with all that the journal has of it."""
    for trial in journal.trials:
        run.learn(trial)
    return _told(space, run, journal)


def _told(space: Space, run: Runner, journal: Journal) -> Search:
    """A search that knows the trials; what fits the kind of program that the first one showed comes first."""
    seen = journal.trials[0].detail.get("kinds") or () if journal.trials else ()
    risk = space.risk if run.ends else lambda config: _strict(space.risk(config))
    search = Search(space.starts, space.for_kinds(seen).moves, risk)
    for trial in journal.trials:
        search.tell(trial)
    return search


def _strict(risk: Risk) -> Risk:
    return "none" if risk == "none" else "out"


def drive(
    space: Space,
    run: Runner,
    journal: Journal,
    budget: float,
    tell: Tell = lambda _search, _left: None,
    timeout: float | None = None,
) -> Search:
    """Search until it is over or the budget is spent.

    Args:
        space: What can be tried.
        run: Runs a step.
        journal: Keeps every finished trial, also of earlier starts.
        budget: Seconds; the trials of earlier starts count.
        tell: Called after each trial.
        timeout: The longest that a run may take, in seconds.

    Raises:
        JaxGpuTuneError: The program fails as it is.
        BadSetting: Another process searches with this journal.
    """
    with journal.alone(), closing(run):
        course = _Course(space, run, journal, budget, tell, timeout)
        while (step := course.next()) is not None:
            course.take(step)
    return course.search


FAILS = {
    "refused": ("XLA refuses a setting as it is (refused)", REFUSED),
    "hang": (
        "The program has no steps in time (hang)",
        "Give it more time (--timeout, or a larger --budget), or run it by itself to see where it stands still.",
    ),
    "no-steady-state": (
        "The program runs, but no step of it can be timed",
        "Let it take more steps, or go by a number that it prints (--metric REGEX), or by its whole time (--whole).",
    ),
    "no-metric": (
        "The program runs, but prints no number above 0 to go by",
        "Mend the pattern; its first group is the number.",
    ),
    "nan": (
        "The program's numbers are not finite as it is (nan)",
        "JAX_DEBUG_NANS=true stops it where the first NaN is made; `jaxgpu-tune bisect --nan` asks which setting makes it.",
    ),
}
"""How a program fails with no setting of ours, and what to do; any other way: run it by itself."""


@dataclass
class _Course:
    """A search under way; its fields are the arguments of ``drive``."""

    space: Space
    run: Runner
    journal: Journal
    budget: float
    tell: Tell
    timeout: float | None

    def __post_init__(self) -> None:
        self.search = resumed(self.space, self.run, self.journal)
        self.width = 1  # how many runs go side by side
        if is_disturbed(self.search.trials) is False:
            self.width = len(self._places()) or 1

    @property
    def left(self) -> float:
        """What the budget still has, in seconds."""
        return self.budget - sum(trial.spent for trial in self.search.trials)

    def next(self) -> Step | None:
        """What comes now."""
        return next_step(self.search, self.left, self.run.keeps, self.width)

    def take(self, step: Step) -> None:
        """Run it, by itself or with those that come after it."""
        places = self._places() if step.purpose in BESIDE else ()
        if step.purpose in BESIDE:
            self.width = len(places) or 1
        steps = self._together(step, len(places))
        if len(steps) > 1:
            for trial in self._at_once(steps, places):
                self._keep(trial)
        else:
            self._alone(step)

    def _alone(self, step: Step) -> None:
        trial = self._tried(step)
        if not self.search.trials and not trial.well:
            raise JaxGpuTuneError.of([_fails(trial, output_of(self.journal.path.parent, 1))])
        self._keep(trial)

    def _tried(self, step: Step) -> Trial:
        begun = time.monotonic()
        ahead = step_after(self.search, step, self.left, self.run.keeps)
        trial = self.run(step, len(self.search.trials) + 1, self._limit(step), ahead)
        agreed = trial.detail.get("agreed")  # the same in every process of a job, so that all search alike
        return trial if agreed else trial._replace(seconds=max(round(time.monotonic() - begun, 3), trial.seconds))

    def _keep(self, trial: Trial) -> None:
        self.journal.add(trial)
        self.run.learn(trial)
        if self.search.trials:
            self.search.tell(trial)
        else:
            self.search = _told(self.space, self.run, self.journal)
        self.tell(self.search, self.left)

    def _places(self) -> Sequence[Place]:
        """Where several can run now; the program as it is has been tried there first."""
        if is_disturbed(self.search.trials):
            return ()
        places = self.run.places(self.search.trials[0])
        if len(places) > 1 and is_disturbed(self.search.trials) is None:
            trials = self._at_once([Step(NOTHING, "start")] * len(places), places)
            for trial in judged(trials, self.search.ms_as_it_is):
                self._keep(trial)
        return () if is_disturbed(self.search.trials) else places

    def _at_once(self, steps: Sequence[Step], places: Sequence[Place]) -> list[Trial]:
        number = len(self.search.trials) + 1
        self.run.close()
        return at_once(
            [
                partial(place, step, number + n, self._limit(step))
                for n, (step, place) in enumerate(zip(steps, places, strict=False))
            ]
        )

    def _together(self, step: Step, count: int) -> tuple[Step, ...]:
        """This step and what can run beside it: nothing risky."""

        def ahead(steps: tuple[Step, ...]) -> Step | None:
            twin = self.search
            for one in steps:
                twin = twin.expecting(one)
            found = next_step(twin, self.left, self.run.keeps, count)
            return None if found is None or self.search.risk(found.config) != "none" else found

        return (step,) if self.search.risk(step.config) != "none" else steps_together(step, count, ahead)

    def _limit(self, step: Step) -> float | None:
        return run_limit(self.search, step, self.left, self.budget, self.timeout)


def _fails(trial: Trial, output: Path) -> Finding:
    cause = trial.detail.get("cause", "") or trial.failure
    said, hint = FAILS.get(
        trial.failure, (f"The program fails as it is ({trial.failure})", "Run it by itself until it works.")
    )
    spoke = output.exists() and output.stat().st_size > 0
    shown = f" Its output: {os.path.relpath(output)}" if spoke else ""
    return Finding("program-fails", "error", f"{said}: {cause}".rstrip(".") + ".", hint + shown)
