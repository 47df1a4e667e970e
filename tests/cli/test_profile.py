"""``jaxgpu-tune profile``: programs run unchanged, and the report beside them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jaxgpu_tune.cli.profile import PARAMETERS, _asked, _status, _write
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.profile import Profile
from jaxgpu_tune.measure.runs import RunOutcome
from tests.child import ROOT, clean_environ, free_port

LOOP = dedent("""
    import pathlib, sys, time
    import jax, jax.numpy as jnp

    @jax.jit
    def train_step(w, x):
        return w - 1e-3 * (x.T @ jnp.tanh(x @ w)), (x @ w).mean()

    w, x = jnp.ones((64, 64)), jnp.ones((64, 64))
    end, number = pathlib.Path(sys.argv[1]), 0
    while not end.exists() and number < 10**7:
        w, loss = train_step(w, x)
        number += 1
        time.sleep(0.002)  # as one that waits for its data: it leaves the machine to other tests
        if number % 5 == 0:
            float(loss)
    print("trained")
    sys.exit(int(sys.argv[2]))
""")


def profiled(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command in a fresh process on the CPU."""
    command = [sys.executable, "-m", "jaxgpu_tune", "profile", *words]
    made = clean_environ(JAX_PLATFORMS="cpu", COLUMNS="100", **environ)
    return subprocess.run(command, env=made, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def profiled_until_measured(end: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a program that goes on until ``end`` is there, which is as soon as its step is measured."""
    command = [sys.executable, "-m", "jaxgpu_tune", "profile", *words]
    made = clean_environ(JAX_PLATFORMS="cpu", COLUMNS="100", **environ)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=made, cwd=ROOT, **pipes) as child:
        assert child.stderr is not None
        before = list(lines_until("measured and traced", child.stderr))
        end.touch()
        stdout, rest = child.communicate(timeout=300)
    return child.returncode, stdout, "".join(before) + rest


def lines_until(text: str, lines: Iterable[str]) -> Iterator[str]:
    """Up to the first that has it."""
    for line in lines:
        yield line
        if text in line:
            return


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A training loop."""
    (tmp_path / "train.py").write_text(LOOP)
    return str(tmp_path / "train.py")


@pytest.mark.slow
def test_a_program_is_profiled_as_it_is(program: str, tmp_path: Path) -> None:
    """Its exit code is kept; JSON alone is on stdout; page, JSON and trace are left, the trace where tools look for it."""
    kept = tmp_path / "kept"
    page = tmp_path / "step.html"
    end = tmp_path / "end"
    words = ("--json", "--seconds", "1", "--keep", str(kept), "--html", str(page), "--", sys.executable, program)
    status, stdout, stderr = profiled_until_measured(end, *words, str(end), "3")
    assert status == 3, stderr
    told = json.loads(stdout)
    assert "trained" in stderr
    assert told["function"] == "train_step" and 0 < told["step_ms"] < 1000
    assert told["host"]["compiled"] >= 1 and told["host"]["recompiled"] == 0
    assert any("no device part" in note for note in told["notes"])
    assert json.loads((kept / "profile.json").read_text()) == told
    assert (kept / "plugins" / "profile" / "jaxgpu_tune" / "rank0.xplane.pb").stat().st_size > 1000
    assert "train.py" in page.read_text()


@pytest.mark.slow
def test_a_script_that_starts_it_is_profiled_too(program: str, tmp_path: Path) -> None:
    """A shell between, and a program that ends before it is steady: told, with exit code 1."""
    script = tmp_path / "run.sh"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
    end = tmp_path / "end"
    status, stdout, stderr = profiled_until_measured(end, "--seconds", "1", "--", "sh", str(script), str(end), "0")
    assert status == 0 and "ms a step on cpu (by the calls of train_step" in stdout, stderr
    short = profiled("--seconds", "1", "--", "sh", str(script), str(end), "0")
    assert short.returncode == 1 and "No steady state" in short.stdout and "ended before" in short.stdout


def test_flags_that_end_the_program_are_told_as_its_cause() -> None:
    """Its own words went to the terminal, so the cause is looked for in what is set."""
    words = ("profile", "--", sys.executable, "-c", "import jax; jax.devices()")
    done = subprocess.run(
        [sys.executable, "-m", "jaxgpu_tune", *words],
        env=clean_environ(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_no_such=1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode and "--xla_no_such=1 is refused. `jaxgpu-tune check` tells" in done.stderr
    assert "or it ended while it did" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("--", sys.executable, "-c", "print(1)"), 1, "none imported jax"),
        (("--", sys.executable, "-I", "-c", "print(1)"), 1, "-I"),
        (("--", "no-such-command-here"), 127, "No such file"),
        (("--steps", "2", "--", "true"), 2, "--steps 2 is not valid; allowed: whole numbers of at least 3."),
        (("--html", "/no/such/folder/x.html", "--", "true"), 2, "there is no such folder"),
    ],
)
def test_what_cannot_be_profiled_is_told(words: tuple[str, ...], status: int, told: str) -> None:
    """Whatever is wrong: the program, how it is started, or the command line."""
    done = profiled(*words)
    assert done.returncode == status, done.stderr
    assert told in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("status", "exit_code", "step", "told"),
    [
        ("ok", 0, 1.5, 0),
        ("ok", -15, 1.5, 0),
        ("ok", 0, None, 1),
        ("died", 3, 1.5, 3),
        ("died", 3, None, 3),
        ("died", -9, None, 137),
        ("hang", 0, 1.5, 0),
    ],
)
def test_the_exit_code_is_the_programs(status: Any, exit_code: int, step: float | None, told: int) -> None:
    """As a shell tells it; one that we ended once it was measured has ended well, and one without a step has not."""
    assert _status(Profile(step_ms=step), RunOutcome(status, "", ("a",), "", exit_code)) == told


@pytest.mark.parametrize(
    ("option", "least", "less"),
    [("steps", 3, "2 is not valid; .* at least 3"), ("seconds", "0.1", "'0' is no"), ("timeout", "1s", "'0s' is no")],
)
def test_the_least_that_can_be_asked_for(option: str, least: object, less: str) -> None:
    given = {one.name: one.absent for one in PARAMETERS}
    _asked({**given, option: least})
    with pytest.raises(BadSetting, match=f"--{option} {less}"):
        _asked({**given, option: 2 if option == "steps" else less.split("'")[1]})


def test_a_page_is_written_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over one that is there, and said on stderr."""
    page = tmp_path / "step.html"
    page.write_text("before")
    _write(Profile(function="train"), str(page))
    assert "<title>train</title>" in page.read_text() and "before" not in page.read_text()
    assert capsys.readouterr() == ("", f"written: {page}\n")
    _write(Profile(), None)
    assert list(tmp_path.iterdir()) == [page]


def test_names_need_flags_that_are_written_out(tmp_path: Path) -> None:
    """XLA_FLAGS that names a file cannot be added to."""
    (tmp_path / "flags").write_text("--xla_gpu_autotune_level=2")
    done = profiled("--names", "--", "true", XLA_FLAGS=str(tmp_path / "flags"))
    assert done.returncode == 2 and "XLA_FLAGS names a file" in done.stderr


@pytest.mark.slow
def test_an_endless_program_is_told_of_when_it_is_ended(program: str, tmp_path: Path) -> None:
    """By Ctrl-C, as a terminal sends it to all of its processes, or by --stop."""
    words = ("--seconds", "1", "--", sys.executable, program, str(tmp_path / "never"), "0")
    command = [sys.executable, "-m", "jaxgpu_tune", "profile"]
    environ = clean_environ(JAX_PLATFORMS="cpu", COLUMNS="200")
    child = subprocess.Popen(
        [*command, *words],
        env=environ,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    assert any("measured and traced" in line for line in child.stderr)
    os.killpg(child.pid, signal.SIGINT)
    told, _ = child.communicate(timeout=300)
    assert child.returncode == 130 and "ms a step on cpu" in told and "The command was interrupted." in told
    stopped = profiled("--stop", "--names", *words)
    assert stopped.returncode == 0 and "ms a step on cpu" in stopped.stdout
    assert "This run had no CUDA graphs" in stopped.stdout and "times as long" in stopped.stdout


RANK = dedent("""
    import os, sys, time
    import jax, jax.numpy as jnp
    jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))

    @jax.jit
    def train_step(w, x):
        return w - 1e-3 * (x.T @ jnp.tanh(x @ w))

    w, x = jnp.ones((64, 64)), jnp.ones((64, 64))
    for _ in range(700):  # steps, not seconds: on a busy machine it lasts longer
        w = train_step(w, x)
        w.block_until_ready()
        time.sleep(0.01)
""")


@pytest.mark.slow
def test_of_several_processes_each_is_told(tmp_path: Path) -> None:
    """Two ranks that a shell starts: rank 0's report, the range over both, and a trace of each."""
    (tmp_path / "rank.py").write_text(RANK)
    start = f'"{sys.executable}" "{tmp_path / "rank.py"}" {free_port()}'
    words = ("--seconds", "1", "--keep", str(tmp_path / "kept"), "--", "sh", "-c", f"{start} 1 & {start} 0; wait")
    done = profiled(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "kept" / "profile.json").read_text())
    assert [one["rank"] for one in told["ranks"]] == [0, 1] and all(one["step_ms"] > 9 for one in told["ranks"])
    assert "2 processes; a step" in done.stdout
    traces = tmp_path / "kept" / "plugins" / "profile" / "jaxgpu_tune"
    assert sorted(path.name for path in traces.iterdir()) == ["rank0.xplane.pb", "rank1.xplane.pb"]


def test_what_is_asked_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is typed. A program that runs to its end is said to be measured before that; one that is ended then is not."""
    absent = {one.name: one.absent for one in PARAMETERS}
    found = _asked(absent)
    assert (found["asked"].seconds, found["asked"].whole, found["asked"].trace) == (3.0, True, {"steps": 6})
    assert (found["asked"].function, found["limits"].timeout) == (None, None)
    found["traced"]()
    assert "the report comes when the program ends" in capsys.readouterr().err
    typed = _asked({**absent, "stop": True, "steps": 9, "seconds": "2", "function": "f", "timeout": "60"})
    assert (typed["asked"].seconds, typed["asked"].whole, typed["asked"].trace) == (2.0, False, {"steps": 9})
    assert (typed["asked"].function, typed["limits"].timeout) == ("f", 60) and "traced" not in typed
