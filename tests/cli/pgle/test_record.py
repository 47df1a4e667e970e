"""``pgle record`` on a machine without a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.cli.pgle.record import _no_trace, _written
from jaxgpu_tune.measure.watched import Process
from jaxgpu_tune.pgle.profile_files import read_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, read_sidecar
from tests.cli.pgle.examples import LOOP, TRACE, pgle
from tests.cli.typed import call
from tests.measure.test_readings import outcome


@pytest.mark.slow
def test_recording_where_nothing_runs_on_a_gpu(tmp_path: Path) -> None:
    """The program runs, is traced and ended; both ways say what is wrong, and nothing counts as recorded."""
    target, store = tmp_path / "p.pb", tmp_path / "store"
    done = pgle(
        "record", "--to", str(target), "--", sys.executable, "-c", LOOP.format(steps=20000), JAX_PLATFORMS="cpu"
    )
    assert done.returncode and "no plane of a GPU" in done.stderr and not target.exists()
    again = pgle("record", "--store", str(store), "--", sys.executable, "-c", LOOP.format(steps=9), JAX_PLATFORMS="cpu")
    assert again.returncode == 1 and "pgle-empty-trace" in again.stderr
    used = pgle("use", "--store", str(store), "--", sys.executable, "-c", LOOP.format(steps=9), JAX_PLATFORMS="cpu")
    assert used.returncode == 1 and "Nothing was recorded of this command" in used.stderr


def test_recording_a_program_that_fails_says_only_that(tmp_path: Path) -> None:
    done = pgle("record", "--store", str(tmp_path / "store"), "--", "sh", "-c", "exit 3", JAX_PLATFORMS="cpu")
    assert done.returncode == 3
    assert "exit code 3, so nothing counts as recorded" in done.stderr
    assert "pgle-not-used" not in done.stderr


def test_a_profile_is_written_with_what_it_was_taken_with(tmp_path: Path) -> None:
    """Of one run, whatever was known of it before."""
    file = tmp_path / "p.pb"
    setup = Sidecar("", command=("python", "train.py"), jaxlib="0.11.2")
    found = _written([str(TRACE)], file, 90, None, setup)
    assert read_profile(file) == found.profile and found.module == "jit_step"
    known = setup._replace(digest=found.profile.digest, program="jit_step", percentile=90, runs=1)
    assert read_sidecar(file) == known


USED = "I1128 21:46:04.400022   13661 gpu_hlo_schedule.cc:537] Found profile for module jit_f, using profile guided latency estimator"
STUBBORN = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open(os.path.join(os.environ["JAX_COMPILATION_CACHE_DIR"], "jit_f-0a-cache"), "w").close()
print({USED!r}, file=sys.stderr, flush=True)
os.kill(os.getppid(), signal.SIGINT)
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGINT)
time.sleep(600)
"""


@pytest.mark.parametrize("used", [True, False])
def test_what_was_recorded_until_ctrl_c_is_kept(used: bool, tmp_path: Path) -> None:
    """Of a program that ignores it, too; where XLA has used no profile yet nothing counts."""
    program = STUBBORN if used else STUBBORN.replace("Found profile", "Nothing found")
    done = pgle("record", "--store", str(tmp_path), "--", sys.executable, "-c", program, JAX_PLATFORMS="cpu")
    assert done.returncode == 130
    assert ("what was recorded until then is kept, of jit_f" in " ".join(done.stderr.split())) is used
    assert len(list(tmp_path.glob("*/*.json"))) == used


def test_why_no_trace_was_taken() -> None:
    """What is known best is said: the trace's own trouble, how the program ended, why no step was seen; else that it was too short."""
    seen = Process(1, "", why_not_traced="JAX's profiler is taken")
    cases = (
        (outcome(processes=(seen,), cause="exit code 1"), "No trace was taken: JAX's profiler is taken."),
        (outcome(cause="exit code 1: boom"), "No trace was taken: exit code 1: boom."),
        (outcome(silent="1 Python process ran and none imported jax."), "none imported jax."),
        (outcome(processes=(Process(1, ""),)), "the program ended before its steps could be traced."),
    )
    for given, said in cases:
        assert _no_trace(given).message.endswith(said)
    assert [bool(_no_trace(given).hint.startswith("Let the program run longer")) for given, _ in cases] == [
        False,
        False,
        True,
        True,
    ]


def test_that_there_is_no_gpu_is_told_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(json.dumps({**jaxgpu_tune.detect().to_dict(), "gpus": []}))
    for way in ((), ("--to", str(tmp_path / "p.pb"))):
        done = pgle(
            "record",
            "--store",
            str(tmp_path / "store"),
            *way,
            "--",
            "sh",
            "-c",
            "echo it-ran >&2",
            JAX_PLATFORMS="cpu",
            JAXGPU_TUNE_MACHINE=str(tmp_path / "machine.json"),
        )
        assert 0 < done.stderr.index("There is no NVIDIA GPU here") < done.stderr.index("it-ran")


TOUCH = ("--", "touch", "it-ran")


@pytest.mark.usefixtures("this_jaxlib")
@pytest.mark.parametrize(
    ("words", "environ", "told"),
    [
        (("--to", "model.txt", *TOUCH), {}, "no name for a profile"),
        (("--to", "m.pb", *TOUCH), {"NSYS_X": "1"}, "NSYS_X tells of a tool"),
        (TOUCH, {"NSYS_X": "1"}, "jax_enable_pgle cannot be set"),
        (("--to", "m.pb", "--", "no-such-command"), {}, "no-such-command: No such file"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    words: tuple[str, ...], environ: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything runs, and nothing is left behind."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, value in {**environ, "XDG_CACHE_HOME": str(tmp_path / "here" / "cache")}.items():
        monkeypatch.setenv(name, value)
    done = call("pgle", "record", *words)
    assert done.exit_code in (1, 2) and told in " ".join(done.stderr.split())
    assert [one.name for one in (tmp_path / "here").rglob("*") if one.is_file()] == []
