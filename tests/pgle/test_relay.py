"""A command that is listened to behaves as it would alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxgpu_tune.measure.stopping import carriers

ROOT = Path(__file__).resolve().parents[2]
CALL = """
import json, os, sys
from jaxgpu_tune.pgle.relay import run_heard
heard = run_heard(sys.argv[2:], dict(os.environ, **json.loads(sys.argv[1])))
print(json.dumps(heard))
"""
INFO = "I1128 21:46:04.400022   13661 gpu_hlo_schedule.cc:537] Found profile for module jit_f, using profile guided latency estimator"
WARNING = (
    "W1128 21:46:05.675163   13661 profile_guided_latency_estimator.cc:192] Found 79 instructions from the profile."
)
DEBUG = "INFO:2026-11-28 21:00:00,123:jax._src.compiler:593: PGLE-optimized jit_f loaded from compilation cache"
PROGRAM = f"""
import os, sys
print(sys.stdin.read().strip(), os.environ.get("TF_CPP_MIN_LOG_LEVEL"))
for part in ("plain\\n", {INFO!r}[:30], {INFO!r}[30:] + "\\n" + {WARNING!r} + "\\n", {DEBUG!r} + "\\nInside\\n", "50%\\r", "I think", " so"):
    sys.stderr.write(part)
    sys.stderr.flush()
sys.exit(3)
"""


def heard(*command: str, **environ: str) -> tuple[list, str, list[str]]:  # type: ignore[type-arg]
    """(exit code and lines, stderr, the other lines of stdout)."""
    started = [sys.executable, "-c", CALL, json.dumps(environ), *command]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TF_CPP", "JAX_"))}
    done = subprocess.run(
        started, env={**env, "PYTHONPATH": str(ROOT)}, input="in", capture_output=True, text=True, check=True
    )
    *rest, last = done.stdout.splitlines()
    return json.loads(last), done.stderr, rest


def test_what_was_only_asked_for_to_be_heard_is_not_shown() -> None:
    (code, lines, _), shown, printed = heard(sys.executable, "-c", PROGRAM)
    assert code == 3 and lines == [INFO, WARNING, DEBUG]
    assert shown == f"plain\n{WARNING}\nInside\n50%\nI think so"  # \r is read as \n
    assert printed == ["in 0"]


def test_who_asked_for_all_of_it_gets_it() -> None:
    (_, lines, _), shown, printed = heard(sys.executable, "-c", PROGRAM, TF_CPP_MIN_LOG_LEVEL="0")
    assert lines == [INFO, WARNING, DEBUG] and INFO in shown and printed == ["in 0"]
    _, shown, printed = heard(sys.executable, "-c", PROGRAM, TF_CPP_MIN_LOG_LEVEL="2")
    assert printed == ["in 2"]


def test_jaxs_own_lines_are_shown_to_who_asked_for_them() -> None:
    (_, lines, _), shown, _ = heard(sys.executable, "-c", PROGRAM, JAX_LOGGING_LEVEL="INFO")
    assert lines == [INFO, WARNING, DEBUG] and DEBUG in shown and INFO not in shown


def test_commands_that_cannot_be_run(tmp_path: Path) -> None:
    (code, *_), shown, _ = heard("no-such-command")
    assert code == 127 and "No such file" in shown
    (tmp_path / "x").write_text("")
    assert heard(str(tmp_path / "x"))[0][0] == 126


def test_a_signal_is_handed_on_and_told_as_a_shell_does() -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
    assert heard(sys.executable, "-c", code)[0][0] == 128 + signal.SIGTERM


def test_a_line_that_comes_in_pieces_is_heard_whole_where_levels_are_the_users_own() -> None:
    """Each piece is passed on when it comes."""
    code = f"""
import sys, time
for part in ({INFO!r}[:90], {INFO!r}[90:], "\\nInside\\n"):
    sys.stderr.write(part)
    sys.stderr.flush()
    time.sleep(0.2)
"""
    (status, lines, _), stderr, _ = heard(sys.executable, "-c", code, TF_CPP_MIN_LOG_LEVEL="0")
    assert (status, lines, stderr) == (0, [INFO], f"{INFO}\nInside\n")


STUBBORN = f"""
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
other = subprocess.Popen(["setsid", "sleep", "600"])
print({INFO!r}, file=sys.stderr, flush=True)
print("ready", file=sys.stderr, flush=True)
{{}}
"""
SHORT = "import jaxgpu_tune.measure.stopping as stopping\nstopping.PATIENCE = float(sys.argv.pop(1))\n"


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that ignores Ctrl-C is listened to, and is ready; all of it is ended after the test."""
    mark = {"TESTS_MARK": str(tmp_path)}
    begin = [sys.executable, "-c", CALL.replace("from jaxgpu_tune.pgle", SHORT + "from jaxgpu_tune.pgle")]
    command = [*begin, "300", "{}", sys.executable, "-c", STUBBORN.format("other.wait()")]
    environ = {**os.environ, **mark, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    while "ready" not in run.stderr.readline():
        pass
    yield run
    for pid in carriers(mark):
        os.kill(pid, signal.SIGKILL)
    run.communicate()


def test_the_second_ctrl_c_ends_a_command_that_ignores_it_with_all_that_it_started(
    listening: subprocess.Popen[str], tmp_path: Path
) -> None:
    """The first one says how; what was heard until then is not lost."""
    assert listening.stderr is not None and listening.stdout is not None
    listening.send_signal(signal.SIGINT)
    assert "the command has 300 s to end; Ctrl-C again ends it now." in listening.stderr.readline()
    assert len(carriers({"TESTS_MARK": str(tmp_path)})) == 3
    listening.send_signal(signal.SIGINT)
    code, lines, interrupted = json.loads(listening.stdout.read())
    assert (code, lines, interrupted) == (130, [INFO], True)
    listening.wait()
    assert carriers({"TESTS_MARK": str(tmp_path)}) == set()


INTERRUPTS = "import threading, time; os.kill(os.getppid(), signal.SIGINT); "


@pytest.mark.parametrize(
    ("patience", "rest", "expected"),
    [("0.2", "other.wait()", 130), ("300", "other.kill(); sys.exit(3)", 3), ("300", "other.kill()", 0)],
)
def test_after_ctrl_c_a_command_has_time_to_end_by_itself(patience: str, rest: str, expected: int) -> None:
    """Its exit code is then its own; one that goes on is ended, without a second Ctrl-C."""
    begin = [
        sys.executable,
        "-c",
        CALL.replace("from jaxgpu_tune.pgle", SHORT + "from jaxgpu_tune.pgle"),
        patience,
        "{}",
    ]
    command = [*begin, sys.executable, "-c", STUBBORN.format(INTERRUPTS + rest)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [expected, [INFO], True]
