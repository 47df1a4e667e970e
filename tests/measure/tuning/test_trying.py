"""One trial of a search: the command under some settings, its time, and whether its numbers are still right."""

from __future__ import annotations

import math
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.search.trials import NOTHING, SAME, Config, Step, Trial
from jaxgpu_tune.measure.tuning.drive import drive
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.journal import Journal
from jaxgpu_tune.measure.tuning.trying import WRONG, CommandRuns
from jaxgpu_tune.measure.watched import Compilation, Process
from tests.child import clean_environ
from tests.measure.atoms import atom
from tests.measure.test_starting import PROGRAM
from tests.measure.tuning.test_drive import ABOUT
from tests.measure.tuning.test_drive import space as solver_space
from tests.measure.tuning.test_space import space

FAST: Config = frozenset([atom("FAST=1", "env")])


def test_a_program_whose_own_numbers_vary_is_not_blamed_on_a_setting(tmp_path: Path) -> None:
    """It runs twice as it is; only what is further off than it is from itself by far is wrong, and that is told."""

    class Chaotic(CommandRuns):
        def __init__(self, apart: float) -> None:
            super().__init__(solver_space(), How(("x",), tmp_path))
            self.apart, self.own = apart, 0

        def __call__(self, step: Step, _number: int, _limit: float | None, _ahead: Step | None = None) -> Trial:
            self.own += not step.config
            number = self.apart if step.config else 1.0 + 0.02 * (self.own > 1)
            return self.judged(Trial(step.config, step.purpose, 5.0, detail={"numbers": [1.0, number]}))

    for apart, failures in ((1.15, {""}), (1.5, {"wrong-numbers"})):
        path = tmp_path / str(apart)
        run = Chaotic(apart)
        search = drive(solver_space(), run, Journal(path, ABOUT), 0.5)
        assert {trial.failure for trial in search.trials if trial.config} == failures
        assert [not trial.config for trial in search.trials[:2]] == [True, True]
        assert ["differ by up to 2.0% from run to run" in finding.message for finding in run.findings] == [True]


@pytest.mark.slow
def test_settings_that_the_program_drops_are_not_measured(tmp_path: Path) -> None:
    """It is stopped once it has compiled something, and the search is told why; without settings of ours there is nothing to drop."""
    code = f"import os, sys\nos.environ['XLA_FLAGS'] = '--xla_cpu_enable_fast_math=false'\nsys.argv[1:] = ['100000']\nexec(open({PROGRAM[1]!r}).read())"
    how = How((sys.executable, "-c", code), tmp_path / "runs", seconds=0.3)
    run = CommandRuns(space(gpus=0, environ=dict(clean_environ(JAX_PLATFORMS="cpu"))), how)
    flags = frozenset([atom("xla_cpu_enable_fast_math=true")])
    plain, dropped = (run(Step(config, "toggle"), number, None) for number, config in enumerate((NOTHING, flags), 1))
    run.close()
    cause = "the program sets XLA_FLAGS itself, which drops --xla_cpu_enable_fast_math=true"
    assert plain.well and (dropped.failure, dropped.detail["cause"]) == ("overwritten", cause)
    assert "program-overwrites" in {finding.code for finding in run.findings}


LOCKED = """
import atexit, os, signal, sys, time
lock, runs = (os.path.join(sys.argv[1], name) for name in ("lock", "runs.txt"))
with open(runs, "a") as file:
    print("one more", file=file)
time.sleep(3 * (open(runs).read().count("one") == 2))
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    {clash}
atexit.register(os.unlink, lock)
sys.argv[1:] = ["100000"]
exec(open({program!r}).read())
"""


@pytest.mark.slow
@pytest.mark.parametrize("clash", ["sys.exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(600)"])
def test_a_program_that_stands_no_other_beside_it_is_run_alone(tmp_path: Path, clash: str) -> None:
    """Whichever of the two has the lock first: here the second run finds that the one started beside it was faster.

    It may end as if nothing were wrong, be killed for memory, or wait for ever.
    """
    code = LOCKED.format(program=PROGRAM[1], clash=clash)
    how = How((sys.executable, "-c", code, str(tmp_path)), tmp_path / "runs", seconds=0.3)
    run = CommandRuns(space(gpus=0, environ=dict(clean_environ(JAX_PLATFORMS="cpu"))), how)
    steps = [Step(NOTHING, "start"), *[Step(FAST, "toggle"), Step(NOTHING, "check")] * 2]
    trials = [run(step, number, 12.0, ahead) for number, (step, ahead) in enumerate(pairwise(steps), 1)]
    run.close()
    assert [one.failure for one in trials] == [""] * 4
    assert sorted(os.listdir(tmp_path)) == ["runs", "runs.txt"]
    assert (tmp_path / "runs.txt").read_text().count("one") == 6, (
        "the second once more, and one beside it; from then on alone"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="calls are not seen as they are made")
def test_what_compiles_to_a_known_program_is_ended_before_it_is_measured(tmp_path: Path) -> None:
    run = CommandRuns(space(gpus=0, environ=dict(clean_environ(JAX_PLATFORMS="cpu"))), How(PROGRAM, tmp_path, 2.0))
    first = run(Step(NOTHING, "start"), 1, 60.0)
    assert first.program
    again = run(Step(FAST, "toggle", frozenset([first.program])), 2, 60.0)
    assert (again.failure, again.ms, again.program) == (SAME, None, first.program)
    other = run(Step(frozenset([atom("WRONG=1", "env")]), "toggle", frozenset([first.program])), 3, 60.0)
    assert other.failure != SAME
    assert other.ms is not None and other.program not in ("", first.program)


@pytest.fixture
def runs(tmp_path: Path) -> CommandRuns:
    """Of a program that is told apart by numbers in its output."""
    return CommandRuns(solver_space(), How(("x",), tmp_path, tolerance=0.01))


@pytest.mark.parametrize(
    ("others", "lost"), [((), True), (("--xla_cpu_enable_fast_math=true",), False), (("--xla_a=1",), True)]
)
def test_settings_that_one_process_keeps_are_measured(others: tuple[str, ...], lost: bool, tmp_path: Path) -> None:
    """A helper that has flags of its own is no reason to measure nothing; that some do not reach it is told all the same."""
    run = CommandRuns(space(gpus=0), How(("x",), tmp_path))
    compiled = (Compilation("f", 1.0, 0.1, cached=False),)
    one = outcome().processes[0]._replace(compilations=compiled)
    processes = tuple(one._replace(settings={"XLA_FLAGS": text}) for text in ("", *others))
    step = Step(frozenset([atom("xla_cpu_enable_fast_math=true")]), "toggle")
    trial = run.trial(step, outcome(processes=processes))
    assert (trial.failure == "overwritten") is lost
    assert [finding.code for finding in run.findings] == ["program-overwrites"]


def outcome(seconds: float | None = 0.005, **more: Any) -> RunOutcome:
    """Of a program that measured itself."""
    period = None if seconds is None else Period(seconds, 4, 4, 0, 0.0, 0.01, (seconds,))
    one = Process(1, "", clock="calls", function="step", period=period, jax="0.11.2", program="abcd")
    told = {"status": "ok", "cause": "", "command": ("x",), "folder": "", "processes": (one,), **more}
    return RunOutcome(**told)


def test_an_outcome_is_a_time_or_a_failure_with_its_cause(runs: CommandRuns) -> None:
    step = Step(FAST, "toggle")
    good = runs.trial(step, outcome()._replace(seconds=12.345))
    assert (good.config, good.purpose, good.ms, good.failure, good.seconds, good.program) == (
        *(FAST, "toggle", 5.0, "", 12.35),
        "abcd",
    )
    died = runs.trial(step, outcome(status="died", cause="exit code 3"))
    assert (died.ms, died.failure, died.detail["cause"]) == (None, "died", "exit code 3")
    quiet = runs.trial(step, outcome(None))
    assert (quiet.failure, quiet.detail["cause"]) == ("no-steady-state", "it ended before enough of it was seen")
    assert runs.trial(step, outcome(None, silent="no jax")).detail["cause"] == "no jax"
    compiles = runs.trial(step, outcome(silent="it was compiled again 40 times"))
    assert (compiles.ms, compiles.failure) == (None, "no-steady-state") and "40 times" in compiles.detail["cause"]
    runs.how = runs.how._replace(clock="metric", metric="took (x)")
    unmatched = runs.trial(step, outcome())
    assert (unmatched.ms, unmatched.failure) == (None, "no-metric") and "'took (x)'" in unmatched.detail["cause"]


def test_numbers_are_held_against_the_first_run_as_it_is(runs: CommandRuns) -> None:
    """As far as the program differs from itself, ten times that is allowed; of what failed nothing is held."""

    def trial(number: float, ms: float | None = 5.0, failure: str = "", config: Config = FAST) -> Trial:
        return Trial(config, "toggle", ms, failure, detail={"numbers": [number], "cause": "why"})

    assert runs.judged(trial(9.0)) == trial(9.0)
    for other in (trial(2.0), trial(3.0, None, "died", NOTHING)):
        runs.learn(other)
    assert runs.references == []
    runs.learn(trial(1.0, config=NOTHING))
    assert runs.judged(trial(1.005)).failure == "" and runs.tolerance == 0.01
    wrong = runs.judged(trial(1.05))
    assert wrong.failure == WRONG and "number 1 is 1.05 instead of 1" in wrong.detail["cause"]
    assert runs.judged(trial(1.05, None, "hang")) == trial(1.05, None, "hang")
    runs.learn(trial(1.01, config=NOTHING))
    assert runs.tolerance == pytest.approx(0.1, rel=0.02)
    again = runs.judged(wrong)
    assert (again.failure, again.detail["cause"]) == ("", "")


def test_the_program_as_it_is_is_wrong_only_where_its_numbers_are_none(runs: CommandRuns) -> None:
    """Its second run tells how far its numbers vary; what is not finite tells nothing."""
    for number, failure in ((1.0, ""), (-4.0, ""), (math.nan, WRONG)):
        trial = runs.judged(Trial(NOTHING, "start", 5.0, detail={"numbers": [number]}))
        assert trial.failure == failure
        runs.learn(trial)
    assert runs.references == [(1.0,), (-4.0,)]


def test_what_the_first_run_leaves_for_the_others_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it writes into its own folder is not."""
    monkeypatch.chdir(tmp_path)
    for text, told in (("touch checkpoint", ["program-writes-outside"]), ("touch $JAXGPU_TUNE_RUN_DIR/x", [])):
        run = CommandRuns(solver_space(), How(("sh", "-c", text), tmp_path / "runs"))
        run(Step(NOTHING, "start"), 1, 10.0)
        assert [finding.code for finding in run.findings] == told


def test_a_command_that_cannot_start_is_a_failure_of_its_trial(tmp_path: Path) -> None:
    """In a folder of its own, where nothing of an earlier start is left."""
    (tmp_path / "001" / "old").mkdir(parents=True)
    runs = CommandRuns(solver_space(), How(("no-such-command",), tmp_path))
    trial = runs(Step(NOTHING, "start"), 1, 60.0)
    assert (trial.ms, trial.failure) == (None, "not-started") and "no-such-command" in trial.detail["cause"]
    assert not (tmp_path / "001" / "old").exists()
