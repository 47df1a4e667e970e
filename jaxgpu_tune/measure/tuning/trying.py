"""One trial: the user's command in processes of its own under some settings, its time, and whether its numbers are still right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import CancelledError
from functools import cache, partial
from threading import Event

from ...model import Finding
from ...values import EMPTY
from ..doubts import moment, overwritten, settings_overwritten, written_outside
from ..gpu_state import GpuState
from ..runs import Asked, Limits, RunOutcome, request, run_watched, watch
from ..search.trials import NOTHING, OVERWRITTEN, SAME, Config, Step, Trial
from ..starting import StartedRun, start
from ..watched import Process
from .early import Early
from .how import How, caches
from .readout import (
    detail_of,
    how_numbers_differ,
    milliseconds,
    numbers_apart,
    numbers_shown,
    program_fingerprint,
    untimed,
)
from .slots import Place, Slot, on_its_cores, slots_of
from .space import Space

__all__ = ["WRONG", "CommandRuns"]

WRONG = "wrong-numbers"
OWN = ("", "refused", OVERWRITTEN)
"""How a run may end for which another one beside it is never to blame."""
OWN_SPREAD = 10.0
"""Numbers may differ by so many times what two runs of the program as it is differ by."""
FINITE = 2.0
"""No two finite numbers are further apart, as a share of the larger: the program as it is tells how far its own numbers vary."""


class _InVain(Exception):
    """It need not run on: what was compiled was measured before, or the settings do not reach the program."""

    def __init__(self, failure: str, program: str = "", cause: str = "") -> None:
        super().__init__(failure)
        self.failure, self.program, self.cause = failure, program, cause

    def trial(self, step: Step) -> Trial:
        """What the search is told."""
        detail = {"cause": self.cause} if self.cause else {}
        return Trial(step.config, step.purpose, None, self.failure, program=self.program, detail=detail)


class CommandRuns:
    """Runs each step of a search as a command of its own."""

    def __init__(self, space: Space, how: How) -> None:
        self.space, self.how = space, how
        self.references: list[tuple[float, ...]] = []
        self._gpus = GpuState(space.observation.environ)
        self._busy = self._gpus.busy()
        self._early = Early()
        self._written: list[Finding] = []
        self._overwritten = ""
        self._given = cache(space.environ)

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        """What came of it; ``number``: of the run, which names its folder; ``limit``: seconds after which it hangs; ``ahead``: what comes next, probably."""
        begin = moment(self.how.folder)
        trial = self._alone(step, number, limit, ahead)
        if number == 1:
            self._written = written_outside(begin, self.how.folder)
        return trial

    def _alone(self, step: Step, number: int, limit: float | None, ahead: Step | None) -> Trial:
        self._gpus.wait_for_memory()
        try:
            started = self._early.taken(number, step.config) or self._started(step.config, number)
        except OSError:  # told as the outcome that it is
            return self.trial(step, self._run(step, number, limit))
        if ahead is not None and self.how.early:
            self._early.prepare(number + 1, ahead.config, self._started)
        look = partial(self._look, step)
        try:
            outcome = watch(started, self._asked(), Limits(limit), look)
            if self._in_doubt(step, number, outcome):
                self._early.drop()
                outcome = self._run(step, number, limit, look)
                if not self.trial(step, outcome).failure:
                    self._early.give_up()
        except _InVain as stopped:
            return stopped.trial(step)
        self._early.learn(number, outcome)
        return self.trial(step, outcome)

    def _in_doubt(self, step: Step, number: int, outcome: RunOutcome) -> bool:
        """Whether it failed, and one beside it may be why: it has the port, the lock, the memory.

        The first run hangs only after all of the budget. What compiled something and ended well did not find itself running already.
        """
        own = self.trial(step, outcome).failure in OWN or (number == 1 and outcome.status == "hang")
        worked = outcome.ok and any(one.compilations for one in outcome.processes)
        return not own and not worked and self._early.may_be_why(number)

    def _run(
        self,
        step: Step,
        number: int,
        limit: float | None,
        look: Callable[[tuple[Process, ...]], None] | None = None,
        more: Mapping[str, str] = EMPTY,
    ) -> RunOutcome:
        """From its start to its end. ``more``: variables of this run alone."""
        return run_watched(
            self.how.command,
            folder=self.how.run_folder(number),
            environ={**self._environ(step.config), **more},
            asked=self._asked(),
            limits=Limits(limit),
            seen=look,
        )

    def places(self, first: Trial) -> tuple[Place, ...]:
        """Where several can run at a time, after the program's first run."""
        self._gpus.wait_for_memory()
        slots = slots_of(self.space.observation.machine, first) if self.how.early else ()
        return tuple(partial(self._beside, slot) for slot in slots)

    def _beside(self, slot: Slot, step: Step, number: int, limit: float | None, stop: Event) -> Trial:
        """What came of it, beside others that run now; called in a thread of its own."""
        try:
            with on_its_cores(slot):
                outcome = self._run(step, number, limit, partial(self._look_beside, step, stop), slot.environ)
        except _InVain as stopped:
            return stopped.trial(step)
        return self.trial(step, outcome)

    def close(self) -> None:
        """End what was started early for nothing; more may come."""
        self._early.drop()

    def _asked(self) -> Asked:
        return self.how.asked._replace(program=True)

    def _started(self, config: Config, number: int, hold: bool = False) -> StartedRun:
        told = request(self._asked())
        return start(self.how.command, self.how.run_folder(number), self._environ(config), told, hold=hold)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What made the machine's times less sure (a GPU that was busy before, or slowed down meanwhile), its numbers, and what one run leaves to another."""
        found = [settings_overwritten("Settings are lost", self._overwritten)] if self._overwritten else []
        return (*self._busy, *self._gpus.findings(), *self._numbers_vary(), *self._written, *found)

    def _numbers_vary(self) -> tuple[Finding, ...]:
        if self.tolerance <= self.how.tolerance:
            return ()
        message = (
            f"The program's own numbers differ by up to {self.tolerance / OWN_SPREAD:.1%} from run to run, so settings that change "
            f"them by less than {self.tolerance:.1%} were not told from the others."
        )
        return (Finding("numbers-vary", "note", message, "Give the program a fixed seed, or use --numbers."),)

    def _look(self, step: Step, processes: tuple[Process, ...]) -> None:
        self._stop_in_vain(step, processes)
        self._early.quiet(processes)
        self._gpus.look()

    def _look_beside(self, step: Step, stop: Event, processes: tuple[Process, ...]) -> None:
        if stop.is_set():
            raise CancelledError
        self._stop_in_vain(step, processes)

    def _stop_in_vain(self, step: Step, processes: tuple[Process, ...]) -> None:
        all_told = all(one.compilations for one in processes)
        if all_told and (cause := self._lost(step.config, processes)):
            raise _InVain(OVERWRITTEN, cause=cause)
        if (program := program_fingerprint(processes)) and program in step.known:
            raise _InVain(SAME, program)

    def _lost(self, config: Config, processes: Collection[Process]) -> str:
        """Which of the settings the program undoes in all its processes; its own are none of ours."""
        compiled = [one for one in processes if one.compilations]
        if not config or not compiled:
            return ""
        lost = partial(overwritten, self._given(config), self._given(NOTHING))
        self._overwritten = self._overwritten or lost(compiled)
        return lost(compiled) if all(lost([one]) for one in compiled) else ""

    def trial(self, step: Step, outcome: RunOutcome) -> Trial:
        """The outcome as the search takes it."""
        found = numbers_shown(outcome, self.how)
        ms = milliseconds(outcome, self.how) if outcome.ok else None
        failure, cause = ("", "") if outcome.ok else (str(outcome.status), outcome.cause)
        if outcome.ok and ms is None:
            failure, cause = untimed(outcome, self.how)
        if outcome.ok and (lost := self._lost(step.config, outcome.processes)):
            ms, failure, cause = None, OVERWRITTEN, lost
        detail = detail_of(outcome, found, cause)
        program = program_fingerprint(outcome.processes)
        return self.judged(Trial(step.config, step.purpose, ms, failure, round(outcome.seconds, 2), program, detail))

    def judged(self, trial: Trial) -> Trial:
        """The trial, with wrong numbers as a failure: further from the program's own than its own runs are from each other."""
        if trial.ms is None or trial.failure not in ("", WRONG) or not self.references:
            return trial
        tolerance = FINITE if trial.config == NOTHING else self.tolerance
        wrong = how_numbers_differ(trial.detail.get("numbers", ()), self.references[0], tolerance)
        return trial._replace(failure=WRONG if wrong else "", detail={**trial.detail, "cause": wrong})

    @property
    def tolerance(self) -> float:
        """What is asked for, or ten times what the program's own runs differ by."""
        first, *others = self.references or [()]
        spreads = [numbers_apart(a, b) for other in others for a, b in zip(first, other, strict=False)]
        return max(self.how.tolerance, OWN_SPREAD * max(spreads, default=0.0))

    ends = keeps = True

    def learn(self, trial: Trial) -> None:
        """The numbers of the program as it is are what the others are held against."""
        if trial.well and trial.config == NOTHING:
            self.references.append(tuple(trial.detail.get("numbers", ())))

    def _environ(self, config: Config) -> dict[str, str]:
        return {**caches(self.how.folder, config), **self.space.environ(config)}
