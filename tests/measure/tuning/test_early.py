"""The next run, started while one is measured: as far as its first device, and let go, or ended, or given up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from jaxgpu_tune.measure.runs import Asked, Limits, RunOutcome, request, watch
from jaxgpu_tune.measure.search.trials import NOTHING, SAME, Config, Step, atom
from jaxgpu_tune.measure.starting import StartedRun, discard, is_held, pause, release, start
from jaxgpu_tune.measure.stopping import carriers
from jaxgpu_tune.measure.tuning.early import Early
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.trying import CommandRuns
from jaxgpu_tune.measure.watched import Process, read_processes
from tests.child import ROOT, clean_environ
from tests.measure.tuning.test_space import space

PROGRAM = (sys.executable, str(ROOT / "tests" / "measure" / "programs" / "tunable.py"), "100000")
FAST: Config = frozenset([atom("FAST=1", "env")])
ASKED = Asked(seconds=0.3)


def held(folder: Path, *command: str) -> StartedRun:
    """A command that has come to its first device."""
    started = start(command or PROGRAM, folder, clean_environ(JAX_PLATFORMS="cpu"), request(ASKED), hold=True)
    until = time.monotonic() + 3000
    while not is_held(started) and started.child.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    return started


def test_a_command_that_is_held_has_imported_and_nothing_else_and_then_runs_as_any_other(tmp_path: Path) -> None:
    started = held(tmp_path / "1")
    assert is_held(started)
    (seen,) = read_processes(started.place / "observed")
    assert (seen.steps, seen.compilations) == (0, ())
    pause(started, True)
    release(started)
    outcome = watch(started, ASKED, Limits(60.0))
    assert outcome.ok and outcome.complete
    assert outcome.seconds_a_step == pytest.approx(8e-3, rel=0.5)


def test_what_waits_ends_with_who_is_to_let_it_go_or_when_it_is_not_wanted(tmp_path: Path) -> None:
    started = held(tmp_path / "1")
    pause(started, True)
    discard(started)
    assert carriers(started.mark) == set()
    code = "import jax; jax.devices(); print('went')"
    parent = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from itertools import pairwise
from pathlib import Path
from tests.measure.tuning.test_early import held
print(held(Path(sys.argv[1]), {sys.executable!r}, "-c", {code!r}).child.pid, flush=True)
os._exit(1)
"""
    told = subprocess.run(
        [sys.executable, "-c", parent, str(tmp_path / "2")], capture_output=True, text=True, check=False
    )
    until = time.monotonic() + 300
    while Path(f"/proc/{int(told.stdout)}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{int(told.stdout)}").exists()
    assert "went" not in (tmp_path / "2" / "output.txt").read_text()


def tried(early: Early, folder: Path, *seen: Process) -> bool:
    """Whether a run is started early after one in which these processes were seen."""
    begun: list[int] = []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(number)
        return start(("sleep", "60"), folder, os.environ, {}, hold=hold)

    if seen:
        early.learn(RunOutcome("ok", "", ("x",), "", "", processes=seen))
    early.prepare(2, NOTHING, begin)
    early.drop()
    return begun == [2]


def test_only_programs_of_one_process_are_started_early_and_not_before_that_is_known(tmp_path: Path) -> None:
    one, given_up = Process(1, "", jax="0.11.2"), Early()
    given_up.give_up()
    assert not tried(Early(), tmp_path)
    assert tried(Early(), tmp_path, one)
    assert tried(Early(), tmp_path, one, Process(2, ""))
    assert not tried(Early(), tmp_path, one, one)
    assert not tried(Early(), tmp_path, one._replace(rank=0, processes=2))
    assert not tried(given_up, tmp_path, one)


LOCKED = """
import atexit, os, signal, sys
lock = os.path.join(sys.argv[1], "lock")
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
atexit.register(os.unlink, lock)
sys.argv[1:] = ["100000"]
exec(open({program!r}).read())
"""


@pytest.mark.slow
def test_a_program_that_stands_no_other_beside_it_is_run_alone(tmp_path: Path) -> None:
    code = LOCKED.format(program=PROGRAM[1])
    how = How((sys.executable, "-c", code, str(tmp_path)), tmp_path / "runs", seconds=0.3)
    run = CommandRuns(space(gpus=0, environ=dict(clean_environ(JAX_PLATFORMS="cpu"))), how)
    steps = [Step(NOTHING, "start"), *[Step(FAST, "toggle"), Step(NOTHING, "check")] * 2]
    trials = [run(step, number, 60.0, ahead) for number, (step, ahead) in enumerate(pairwise(steps), 1)]
    run.close()
    assert [one.failure for one in trials] == [""] * 4
    assert os.listdir(tmp_path) == ["runs"]


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
