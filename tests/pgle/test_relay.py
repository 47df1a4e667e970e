"""A command that is listened to behaves as it would alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

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
    (code, lines), shown, printed = heard(sys.executable, "-c", PROGRAM)
    assert code == 3 and lines == [INFO, WARNING, DEBUG]
    assert shown == f"plain\n{WARNING}\nInside\n50%\nI think so"  # \r is read as \n
    assert printed == ["in 0"]


def test_who_asked_for_all_of_it_gets_it() -> None:
    (_, lines), shown, printed = heard(sys.executable, "-c", PROGRAM, TF_CPP_MIN_LOG_LEVEL="0")
    assert lines == [INFO, WARNING, DEBUG] and INFO in shown and printed == ["in 0"]
    (_, _), shown, printed = heard(sys.executable, "-c", PROGRAM, TF_CPP_MIN_LOG_LEVEL="2")
    assert printed == ["in 2"]


def test_jaxs_own_lines_are_shown_to_who_asked_for_them() -> None:
    (_, lines), shown, _ = heard(sys.executable, "-c", PROGRAM, JAX_LOGGING_LEVEL="INFO")
    assert lines == [INFO, WARNING, DEBUG] and DEBUG in shown and INFO not in shown


def test_commands_that_cannot_be_run(tmp_path: Path) -> None:
    (code, _), shown, _ = heard("no-such-command")
    assert code == 127 and "No such file" in shown
    (tmp_path / "x").write_text("")
    assert heard(str(tmp_path / "x"))[0][0] == 126


def test_a_signal_is_handed_on_and_told_as_a_shell_does() -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
    assert heard(sys.executable, "-c", code)[0][0] == 128 + signal.SIGTERM
