"""Colours only where they belong, completion, and what reads the output going away: in real processes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.child import ROOT, clean_environ

NO_GPU = str(ROOT / "tests" / "machines" / "no_gpu.json")
COMMAND = [sys.executable, "-m", "jaxgpu_tune"]
ESCAPE = "\x1b["


def on_a_terminal(*arguments: str, **environ: str) -> str:
    """What a command writes to a terminal."""
    master, slave = pty.openpty()
    given = clean_environ(JAXGPU_TUNE_MACHINE=NO_GPU, COLUMNS="80", **{"TERM": "xterm-256color", **environ})
    given = {name: value for name, value in given.items() if name in environ or name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen([*COMMAND, *arguments], stdout=slave, env=given, cwd=ROOT) as process:
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:
            pass  # so does Linux say that the other end is closed
        process.wait(600)
    os.close(master)
    return b"".join(parts).decode()


def test_errors_have_a_colour_on_a_terminal() -> None:
    """The word that tells the severity, nothing else."""
    assert f"{ESCAPE}1;31merror (no-gpu):{ESCAPE}0m No NVIDIA GPU" in on_a_terminal("doctor")


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(environ: dict[str, str]) -> None:
    """https://no-color.org, and terminals that cannot: nothing but the text."""
    assert ESCAPE not in on_a_terminal("doctor", **environ)


@pytest.mark.parametrize("command", ["doctor", "presets", "check"])
def test_no_colour_in_a_pipe(command: str) -> None:
    """Whatever the terminal is."""
    environ = clean_environ(JAXGPU_TUNE_MACHINE=NO_GPU, TERM="xterm-256color", XLA_FLAGS="--xla_gpu_no=1")
    done = subprocess.run([*COMMAND, command], env=environ, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout and ESCAPE not in done.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("jaxgpu-tune do", "doctor"), ("jaxgpu-tune env --form", "--format"), ("jaxgpu-tune env --format fi", "fish")],
)
def test_the_shell_completes(words: str, wanted: str) -> None:
    """Commands, options and their choices, as bash asks for them."""
    environ = clean_environ(
        _JAXGPU_TUNE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    done = subprocess.run(COMMAND, env=environ, capture_output=True, text=True, check=False, cwd=ROOT)
    assert wanted in done.stdout


@pytest.mark.parametrize("command", [("env", "--variable", "WHO=Zoë"), ("check", "--xla_no=Zoë")])
def test_a_stdout_that_cannot_say_it(command: tuple[str, ...]) -> None:
    """A line instead of a traceback; nothing half said."""
    environ = clean_environ(JAXGPU_TUNE_MACHINE=NO_GPU, PYTHONIOENCODING="ascii")
    done = subprocess.run([*COMMAND, *command], env=environ, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2 and not done.stdout and "Traceback" not in done.stderr
    assert "stdout is ascii" in done.stderr


@pytest.mark.parametrize("command", [("env", "fsdp"), ("flags", "--json")])
def test_a_reader_that_goes_away_gets_no_traceback(command: tuple[str, ...]) -> None:
    """`jaxgpu-tune flags | head -1`."""
    read, write = os.pipe()
    os.close(read)
    environ = clean_environ(JAXGPU_TUNE_MACHINE=str(Path(NO_GPU).with_name("h100x8.json")))
    done = subprocess.run(
        [*COMMAND, *command], env=environ, stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT
    )
    os.close(write)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.parametrize("command", ["env fsdp", "check", "presets", "doctor", "flags --grep pgle", "presets --json"])
def test_a_stdout_that_is_closed_or_full(command: str) -> None:
    """Closed: as if it had been read. Full: one line that says so, and an exit code that is no finding's."""
    environ = clean_environ(JAXGPU_TUNE_MACHINE=NO_GPU)
    ends = {}
    for where in (">&-", ">/dev/full", ">/dev/null"):
        shell = ["sh", "-c", f'exec "$@" {where}', "sh", *COMMAND, *command.split()]
        done = subprocess.run(shell, env=environ, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
        ends[where] = (done.returncode, done.stderr)
    assert ends[">&-"] == ends[">/dev/null"]
    if command != "env fsdp":  # which has nothing to say here
        assert ends[">/dev/full"][0] == 2 and "No space left on device" in ends[">/dev/full"][1]
    assert not any("Traceback" in said for _, said in ends.values())
