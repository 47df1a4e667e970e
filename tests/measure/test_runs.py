"""Programs run with the observer inside: real ones, well-behaved and not, each as its user would start it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from jaxgpu_tune.measure.runs import Asked, Limits, RunOutcome, run_watched
from jaxgpu_tune.measure.stopping import carriers
from jaxgpu_tune.measure.watched import Process
from tests.child import clean_environ

PROGRAMS = Path(__file__).resolve().parent / "programs"
ENDLESS = "1000000"
SEEN = sys.version_info >= (3, 12)
"""Whether calls are counted as they are made; before, they are read off a trace."""
CLOCK = "calls" if SEEN else "trace"


def watched(tmp_path: Path, *command: str, seconds: float = 0.4, timeout: float = 100, **more: object) -> RunOutcome:
    """The outcome of a command, a run of its own below ``tmp_path``."""
    asked = Asked(seconds=seconds, **{name: more.pop(name) for name in ("trace", "whole", "metric") if name in more})
    limits = Limits(timeout, more.pop("stall", None), more.pop("grace", 1.0))
    return run_watched(command, folder=tmp_path / "run", environ=clean_environ(**more), asked=asked, limits=limits)


def python(program: str, *words: str) -> tuple[str, ...]:
    """A program of the tests."""
    return (sys.executable, str(PROGRAMS / f"{program}.py"), *words)


def leader(outcome: RunOutcome) -> Process:
    """The process whose clock counts."""
    assert outcome.leader is not None, (outcome.cause, outcome.silent)
    return outcome.leader


def truth(outcome: RunOutcome) -> float:
    """Seconds a step in the loop itself, from the first to the last wait within the window that was measured."""
    waits = json.loads((Path(outcome.folder) / "files" / "truth.json").read_text())
    begin, end = leader(outcome).window_s
    inside = [(step, at) for step, at in waits if begin <= at <= end]
    return float((inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]))


def test_a_shell_script_that_starts_a_program_that_forks(tmp_path: Path) -> None:
    """Found through the shell, measured, traced, ended with its forked child; the user's own sitecustomize still runs."""
    (tmp_path / "sitecustomize.py").write_text("print('theirs runs', __name__)\n")
    script = tmp_path / "start.sh"
    script.write_text(f'export PYTHONPATH="$PYTHONPATH:{tmp_path}"\necho {{run}} $1\n"$@"\n')
    outcome = watched(tmp_path, "sh", str(script), *python("plain", ENDLESS, "10", "fork"), trace={"steps": 3})
    found = leader(outcome)
    assert (
        outcome.ok and outcome.complete and outcome.exit_code in (-15, 143)
    )  # the shell tells of its child, or dies itself
    assert (found.clock, found.function, found.state) == (CLOCK, "train_step", "done")
    assert found.period is not None and found.period.bursts >= 3
    assert found.trace is not None and b"/host:CPU" in Path(found.trace).read_bytes()
    assert not SEEN or 0 < (found.first_step_s or 0) < found.seconds
    assert found.compile_seconds > 0 and not found.recompiled
    assert len(found.devices) == 2 and found.devices[0]["platform"] == "cpu"
    assert any(loss < 1 for loss in outcome.losses)
    assert "theirs runs sitecustomize" in Path(outcome.output or "").read_text()
    assert carriers({"JAXGPU_TUNE_OBSERVE": str(tmp_path / "run" / "observed")}) == set()


@pytest.mark.slow
def test_a_deaf_program_that_was_measured_is_killed_soon(tmp_path: Path) -> None:
    """As each process of a job that jax.distributed has joined: it catches SIGTERM, and each run had waited ten seconds."""
    words = ["plain", ENDLESS, "10"]
    deaf = f"import runpy, signal, sys\nsignal.signal(15, signal.SIG_IGN)\nsys.argv = {words!r}\n"
    run = f"runpy.run_path({str(PROGRAMS / 'plain.py')!r}, run_name='__main__')"
    outcome = watched(tmp_path, sys.executable, "-c", deaf + run, grace=3000.0)
    assert outcome.ok and outcome.complete and outcome.exit_code == -9


def test_a_deaf_program_that_hangs_is_killed(tmp_path: Path) -> None:
    """It ignores SIGINT and SIGTERM and does not move any more; its own group goes with it."""
    code = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nsignal.signal(2, signal.SIG_IGN)\nprint('deaf')\ntime.sleep(600)"
    begin = time.monotonic()
    outcome = watched(tmp_path, "sh", "-c", '"$0" -c "$1"; sleep 600', sys.executable, code, timeout=2, grace=0.5)
    assert outcome.status == "hang" and "it was not done after" in outcome.cause
    assert time.monotonic() - begin < 300
    assert outcome.silent == "1 Python process ran and none imported jax."
    assert carriers({"JAXGPU_TUNE_OBSERVE": str(tmp_path / "run" / "observed")}) == set()


def test_outcomes_of_commands_that_fail(tmp_path: Path) -> None:
    """Not found, refused before it began, not to be watched: values, no exceptions."""
    assert watched(tmp_path, "no-such-command").status == "not-started"
    isolated = watched(tmp_path / "2", sys.executable, "-I", "-c", "print('loss: nan')")
    assert isolated.status == "nan" and "-I" in isolated.silent
    broken = watched(tmp_path / "3", sys.executable, "-c", "raise MemoryError('no room')")
    assert broken.status == "out-of-memory" and broken.exit_code == 1


def test_a_metric_that_is_never_printed_is_the_cause(tmp_path: Path) -> None:
    outcome = watched(tmp_path, "sh", "-c", "echo ips=1; exec sleep 600", metric=r"ips=([\d.]+)", timeout=1)
    assert outcome.status == "hang"
    assert outcome.cause.endswith("the pattern of the metric was found 1 time in its output, and 5 are needed")


def test_run_directory_and_metric(tmp_path: Path) -> None:
    """{run} and the variable name the run's own empty folder; numbers come from the output."""
    code = "import os, sys; print(os.environ['JAXGPU_TUNE_RUN_DIR'] == sys.argv[1], os.listdir(sys.argv[1]), 'ips=3.5 ips=4')"
    outcome = watched(tmp_path, sys.executable, "-c", code, "{run}", metric=r"ips=([\d.]+)")
    assert Path(outcome.output or "").read_text().startswith("True [] ")
    assert outcome.metric == (3.5, 4.0) and outcome.command[-1] == str(Path(outcome.folder) / "files")


@pytest.mark.slow
@pytest.mark.parametrize("every", ["1", "10"])
def test_the_clock_is_within_two_percent_of_the_loops_own(tmp_path: Path, every: str) -> None:
    """Synchronised at every step and at every tenth."""
    outcome = watched(tmp_path, *python("plain", ENDLESS, every), seconds=3)
    found = leader(outcome)
    assert found.period is not None and found.period.bursts >= 3
    waited = found.period.paused_seconds / (found.period.calls + found.period.pauses)
    assert found.period.seconds + waited == pytest.approx(truth(outcome), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "function"), [("nnx", "update"), ("eqx", "make_step")])
def test_programs_of_peoples_libraries(tmp_path: Path, program: str, function: str) -> None:
    """The step is found in flax and in equinox, which call the jitted function from a wrapper of their own."""
    found = leader(watched(tmp_path, *python(program)))
    assert (found.clock, found.function) == (CLOCK, function)


@pytest.mark.slow
def test_preparations_are_no_steady_state(tmp_path: Path) -> None:
    """Functions that are called while the step is traced and compiled are not the loop."""
    found = leader(watched(tmp_path, *python("prepares", ENDLESS), seconds=0.5))
    assert (found.function, found.state) == ("train_step", "done")


@pytest.mark.slow
def test_marks_are_preferred(tmp_path: Path) -> None:
    """The program says itself what a step is."""
    outcome = watched(tmp_path, *python("plain", ENDLESS, "1", "marks"))
    assert leader(outcome).clock == "marks"


@pytest.mark.slow
@pytest.mark.skipif(not SEEN, reason="sys.monitoring is Python 3.12's")
def test_where_other_tools_watch_all_calls_a_trace_is_read(tmp_path: Path) -> None:
    """They keep what they took; the clock is said to be the tracer's, and the trace that was asked for is the same one."""
    code = f"""
import runpy, sys
for tool in (3, 4, 5):
    sys.monitoring.use_tool_id(tool, "theirs")
sys.argv = ["plain.py", "{ENDLESS}", "1"]
runpy.run_path({str(PROGRAMS / "plain.py")!r})
"""
    outcome = watched(tmp_path, sys.executable, "-c", code, seconds=1, trace={"steps": 3})
    found = leader(outcome)
    assert (found.clock, found.function) == ("trace", "train_step") and outcome.complete
    assert found.period is not None and found.period.bursts >= 3
    assert found.trace == found.host_trace and found.trace is not None


@pytest.mark.slow
def test_of_two_ranks_the_first_ones_word_counts(tmp_path: Path) -> None:
    """Both report, the slower one too; the run is complete once rank 0 is."""
    script = "RANK=1 $0 $1 1000000 1 & RANK=0 $0 $1 1000000 10; wait"
    outcome = watched(tmp_path, "sh", "-c", script, sys.executable, str(PROGRAMS / "plain.py"))
    assert outcome.ok and outcome.complete
    assert [process.rank for process in outcome.processes] == [0, 1]
    assert leader(outcome).rank == 0
    assert carriers({"JAXGPU_TUNE_OBSERVE": str(tmp_path / "run" / "observed")}) == set()


@pytest.mark.slow
def test_one_dying_rank_ends_all(tmp_path: Path) -> None:
    """The others would wait for it for ever; its exception is the cause."""
    dies = "import jax; jax.jit(lambda x: x)(1); raise KeyError('lost')"
    script = 'RANK=1 $0 -c "$1" & RANK=0 $0 -c "import jax, time; jax.jit(lambda x: x)(1); time.sleep(300)"; wait'
    outcome = watched(tmp_path, "sh", "-c", script, sys.executable, dies)
    assert outcome.status == "died" and "KeyError: 'lost'" in outcome.cause


@pytest.mark.slow
def test_a_program_that_never_becomes_steady_is_told(tmp_path: Path) -> None:
    """Each step compiles anew."""
    outcome = watched(tmp_path, *python("plain", "20", "1", "recompile"))
    assert outcome.ok and not outcome.complete
    assert "compiled again" in outcome.silent


@pytest.mark.slow
@pytest.mark.parametrize("environ", [{}, {"JAX_ENABLE_PGLE": "1"}])
def test_the_programs_own_profiler_sessions_never_meet_ours(tmp_path: Path, environ: dict[str, str]) -> None:
    """It starts and stops its own again and again, and AutoPGLE does; ours is recorded and theirs never fails."""
    code = f"""
import jax, itertools, tempfile
step = jax.jit(lambda x: x + 1)
x = step(1)
for n in itertools.count():
    x = step(x)
    if n % 20 == 0 and {not environ}:
        jax.profiler.start_trace(tempfile.mkdtemp(dir={str(tmp_path)!r}))
    jax.block_until_ready(x)
    if n % 20 == 10 and {not environ}:
        jax.profiler.stop_trace()
    if n % 100 == 50:
        step = jax.jit(lambda x: x + 1)
"""
    if environ:
        code = code.replace("if n % 100 == 50:", "if n == 5:")
    else:
        code = code.replace("if n % 100 == 50:", "if False:")
    outcome = watched(tmp_path, sys.executable, "-c", code, trace={"steps": 50}, timeout=300, **environ)
    assert outcome.ok, outcome.cause
    assert leader(outcome).trace or leader(outcome).why_not_traced


def test_a_command_that_does_not_wait_for_its_program_is_told_to(tmp_path: Path) -> None:
    """What it left is ended; one that waits, or fails, is told something else."""
    for script, told in (("sleep 600 &", True), ("sleep 0.1", False), ("sleep 600 & exit 3", False)):
        outcome = run_watched(["sh", "-c", script], folder=tmp_path / str(told) / script[-1])
        assert ("let it wait for that" in outcome.silent) is told, script
        assert carriers({"JAXGPU_TUNE_OBSERVE": str(Path(outcome.folder) / "observed")}) == set()
