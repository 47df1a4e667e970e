"""One trial: the user's command in processes of its own under some settings, its time, and whether its numbers are still right."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from ...knowledge.candidates import autotuning
from ...model import Finding
from ..compare import CACHES, GPU_LOOK
from ..endings import losses, numbers_in
from ..gpu_state import GpuState
from ..runs import Asked, Limits, RunOutcome, request, run_watched, watch
from ..search.trials import SAME, Config, Step, Trial
from ..starting import StartedRun, start
from ..watched import Process
from .early import Early
from .space import Space

__all__ = [
    "WRONG",
    "Clock",
    "CommandRuns",
    "How",
    "caches",
    "detail_of",
    "how_numbers_differ",
    "milliseconds",
    "moments",
    "numbers_shown",
    "program_fingerprint",
]

Clock = Literal["steps", "metric", "whole"]
WRONG = "wrong-numbers"
COMPARED = 10
"""As many of the first numbers are compared."""
OWN_SPREAD = 10.0
"""Numbers may differ by so many times what two runs of the program as it is differ by."""
HEAD = 1_000_000
"""As many of the first bytes of the output are read for them."""


class How(NamedTuple):
    """How a program is run and judged.

    ``seconds``: of steady state to measure; ``clock``: "steps" (the program's own steps), "metric" (numbers in the output that ``metric`` finds) or
    "whole" (all of the run); ``whole``: each run finishes; ``numbers``: what finds the numbers to compare, by default each loss; ``tolerance``: relative. ``cache``: compiled programs are kept for
    the other runs of the search; ``early``: the next run may import and wait while one is measured.
    """

    command: tuple[str, ...]
    folder: Path
    seconds: float = 3.0
    clock: Clock = "steps"
    metric: str | None = None
    higher_is_better: bool = False
    numbers: str | None = None
    tolerance: float = 0.01
    timeout: float | None = None
    cache: bool = True
    early: bool = True
    whole: bool = False


class _SameError(Exception):
    """What was compiled was measured before: it need not run."""

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self.program = program


class CommandRuns:
    """Runs each step of a search as a command of its own."""

    def __init__(self, space: Space, how: How) -> None:
        self.space, self.how = space, how
        self.references: list[tuple[float, ...]] = []
        self._gpus = GpuState(space.observation.environ)
        self._busy = self._gpus.busy()
        self._looked = 0.0
        self._early = Early()
        self._known: frozenset[str] = frozenset()

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        """What came of it; ``number``: of the run, which names its folder; ``limit``: seconds after which it hangs; ``ahead``: what comes next, probably."""
        asked = self._asked()
        try:
            started = self._early.taken(number, step.config) or self._started(step.config, number)
        except OSError:  # told as the outcome that it is
            outcome = run_watched(self.how.command, folder=self._folder(number), environ=self._environ(step.config))
            return self.trial(step, outcome)
        if ahead is not None and self.how.early:
            self._early.prepare(number + 1, ahead.config, self._started)
        self._known = step.known
        try:
            outcome = watch(started, asked, Limits(limit), self._look)
        except _SameError as same:
            return Trial(step.config, step.purpose, None, SAME, program=same.program)
        if outcome.status == "died" and self._early.was(number):
            self._early.give_up()  # it may not stand another one beside it
            outcome = watch(self._started(step.config, number), asked, Limits(limit), self._look)
        self._early.learn(outcome)
        return self.trial(step, outcome)

    def close(self) -> None:
        """End what was started early for nothing."""
        self._early.drop()

    def _asked(self) -> Asked:
        return Asked(seconds=self.how.seconds, whole=self.how.whole, metric=self.how.metric, program=True)

    def _folder(self, number: int) -> Path:
        return self.how.folder / f"{number:03}"

    def _started(self, config: Config, number: int, hold: bool = False) -> StartedRun:
        shutil.rmtree(self._folder(number), ignore_errors=True)  # of a start that was killed
        told = request(self._asked())
        return start(self.how.command, self._folder(number), self._environ(config), told, hold=hold)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What made the machine's times less sure: a GPU that was busy before, or slowed down meanwhile."""
        return (*self._busy, *self._gpus.findings())

    def _look(self, processes: tuple[Process, ...]) -> None:
        if (program := program_fingerprint(processes)) and program in self._known:
            raise _SameError(program)
        self._early.quiet(processes)
        now = time.monotonic()
        if now - self._looked >= GPU_LOOK:
            self._looked = now
            self._gpus.look()

    def trial(self, step: Step, outcome: RunOutcome) -> Trial:
        """The outcome as the search takes it."""
        found = numbers_shown(outcome, self.how)
        ms = milliseconds(outcome, self.how) if outcome.ok else None
        failure, cause = ("", "") if outcome.ok else (str(outcome.status), outcome.cause)
        if outcome.ok and ms is None:
            failure, cause = "no-steady-state", outcome.silent or "it ended before enough of it was seen"
        detail = detail_of(outcome, found, cause)
        program = program_fingerprint(outcome.processes)
        return self.judged(Trial(step.config, step.purpose, ms, failure, round(outcome.seconds, 2), program, detail))

    def judged(self, trial: Trial) -> Trial:
        """The trial, with wrong numbers as a failure: further from the program's own than its own runs are from each other."""
        if trial.ms is None or trial.failure not in ("", WRONG) or not self.references:
            return trial
        wrong = how_numbers_differ(trial.detail.get("numbers", ()), self.references[0], self.tolerance)
        return trial._replace(failure=WRONG if wrong else "", detail={**trial.detail, "cause": wrong})

    @property
    def tolerance(self) -> float:
        """What is asked for, or ten times what the program's own runs differ by."""
        first, *others = self.references or [()]
        apart = [_apart(a, b) for other in others for a, b in zip(first, other, strict=False)]
        return max(self.how.tolerance, OWN_SPREAD * max(apart, default=0.0))

    ends = True

    @property
    def keeps(self) -> bool:
        """Whether what was compiled once is there for all later runs."""
        return self.how.cache

    @property
    def sure(self) -> bool:
        """Whether it is known how much the program's own numbers vary from run to run."""
        return len(self.references) > 1

    def learn(self, trial: Trial) -> None:
        """The numbers of the program as it is are what the others are held against."""
        if trial.ms is not None and trial.config == self.space.starts[0].config:
            self.references.append(tuple(trial.detail.get("numbers", ())))

    def _environ(self, config: Config) -> dict[str, str]:
        environ = self.space.environ(config)
        return {**caches(self.how.folder, config), **environ} if self.how.cache else environ


def program_fingerprint(processes: Sequence[Process]) -> str:
    """The fingerprint of what was compiled, of a program of one process; a job's processes may differ."""
    seen = [one for one in processes if one.jax is not None]
    return seen[0].program if len(seen) == 1 else ""


def caches(folder: Path, config: Config) -> dict[str, str]:
    """What is compiled and autotuned is kept for the other runs; what chooses kernels anew is not given the others' choices."""
    anew = any(one.name in autotuning() for one in config)
    own = {"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none"} if anew else {}
    return {**CACHES["warm"], "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"), **own}


def how_numbers_differ(found: Sequence[float], reference: Sequence[float], tolerance: float) -> str:
    """Where numbers differ by more than the tolerance or are not finite: a sentence, empty where they do not."""
    for place, (mine, other) in enumerate(zip(found, reference, strict=False), start=1):
        if isfinite(other) and not _apart(mine, other) <= tolerance:
            return f"number {place} is {mine:g} instead of {other:g}, which is more than {tolerance:.2%} away"
    return ""


def _apart(mine: float, other: float) -> float:
    """How far two numbers are from each other, relative; infinite where only one is finite."""
    if not (isfinite(mine) and isfinite(other)):
        return 0.0 if isfinite(mine) == isfinite(other) else float("inf")
    return abs(mine - other) / (max(abs(mine), abs(other)) or 1.0)


def numbers_shown(outcome: RunOutcome, how: How) -> tuple[float, ...]:
    """The first numbers of the program, to compare."""
    if outcome.output is None or not Path(outcome.output).exists():
        return ()
    with Path(outcome.output).open("rb") as file:
        text = file.read(HEAD).decode(errors="replace")
    found = numbers_in(how.numbers, text) if how.numbers else losses(text)
    return found[:COMPARED]


def milliseconds(outcome: RunOutcome, how: How) -> float | None:
    """What one step took, of the slowest process; a metric of which more is better is turned over."""
    if how.clock == "whole":
        return outcome.seconds * 1e3
    if how.clock == "metric":
        value = median(outcome.metric) if outcome.metric else 0.0
        return (1e3 / value if how.higher_is_better else value) if value > 0 else None
    leader = outcome.leader
    if leader is None:
        return None
    alike = [one for one in outcome.processes if one.period and one.function == leader.function]
    return 1e3 * max(one.period.seconds for one in alike if one.period)


def detail_of(outcome: RunOutcome, found: Sequence[float], cause: str) -> Mapping[str, Any]:
    """What else is kept of a run."""
    leader = outcome.leader
    return {
        "numbers": list(found),
        "cause": cause,
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "compile_seconds": round(outcome.compile_seconds, 3),
        "peak_bytes": outcome.peak_bytes,
        "clock": leader.clock if leader else "",
        "function": leader.function if leader else "",
        "kinds": list(leader.kinds) if leader else [],
        "error": leader.period.error if leader and leader.period else None,
        "processes": len([one for one in outcome.processes if one.period]),
        "moments": moments(leader, outcome.seconds) if leader else {},
    }


def moments(one: Process, seconds: float) -> dict[str, float | None]:
    """Where a run's seconds went, each since its start: jax imported, its first and last compilation, the window of the measurement, its report, its end."""
    compiles = sorted((found.at_s - found.seconds, found.at_s) for found in one.compilations)
    told = {
        "jax": one.jax_s,
        "compiling": compiles[0][0] if compiles else None,
        "compiled": max((end for _, end in compiles), default=None),
        "measuring": one.window_s[0] if one.window_s else None,
        "measured": one.window_s[-1] if one.window_s else None,
        "reported": one.seconds,
        "ended": seconds,
    }
    return {name: None if at is None else round(at, 2) for name, at in told.items()}
