"""The commands of pgle, each in a process of its own, on a machine without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, read_sidecar, write_sidecar
from tests.child import ROOT, clean_environ

TRACE = ROOT / "tests" / "measure" / "traces" / "fsdp-h200x2.xplane.pb.gz"
PROFILE = CostProfile((Cost("all-gather-start", 70.0), Cost("fusion.1", 2.5)))
HEAD = "1128 21:46:04.400022   13661"
SAYS = f"""
import os, sys
print(os.environ.get("XLA_FLAGS"), os.environ.get("JAX_COMPILATION_CACHE_DIR"))
say = sys.stderr.write
say("I{HEAD} gpu_hlo_schedule.cc:537] Found profile for module jit_f, using profile guided latency estimator\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:192] Found 9 instructions from the profile.\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:194] Missing 1 instructions from the profile.\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:197]   all-gather-start\\n")
sys.exit(7)
"""
LOOP = """
import time
import jax
from jax import numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x))
x = jnp.ones((64, 64))
for number in range({steps}):
    x = step(x)
    x.block_until_ready()
    time.sleep(0.002)
"""


def pgle(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jaxgpu_tune", "pgle", *words]
    env = clean_environ(**environ)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_use_sets_the_profile_and_tells_what_xla_said(tmp_path: Path) -> None:
    """The command's exit code stays; the cache is this profile's own, since the key holds its path and not its content."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    write_sidecar(path, Sidecar(PROFILE.digest, jaxlib="0.0.1", command=("python", "other.py")))
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "says.py").write_text(SAYS)
    done = pgle("use", str(path), "--", sys.executable, str(tmp_path / "says.py"), **cache)
    assert done.returncode == 7
    flags, folder = done.stdout.split()
    assert flags == f"--xla_gpu_pgle_profile_file_or_directory_path={path}"
    assert folder == str(tmp_path / "cache" / f"pgle-{PROFILE.digest}")
    assert "pgle-stale" in done.stderr and "jaxlib 0.0.1, now" in done.stderr and "other.py" in done.stderr
    assert "pgle-collectives-missing" in done.stderr and "9 costs of jit_f" in done.stderr
    assert "Found profile for module" not in done.stderr and "Found 9 instructions" in done.stderr


def test_use_in_json(tmp_path: Path) -> None:
    path = write_profile(PROFILE, tmp_path / "p.pb")
    done = pgle("use", str(path), "--json", "--", sys.executable, "-c", SAYS)
    told = json.loads(done.stderr[done.stderr.index("{") :])
    assert [one["code"] for one in told["findings"]] == ["pgle-used", "pgle-collectives-missing"]


@pytest.mark.parametrize(
    ("words", "environ", "told"),
    [
        (["use", "absent.pb", "--", "true"], {}, "absent.pb: No such file"),
        (["use", "p.pb"], {}, "-- COMMAND"),
        (["use", "", "--", "true"], {}, "the profile is empty"),
        (["record", "--to", "model.txt", "--", "true"], {}, "no name for a profile"),
        (["record", "--to", "m.pb", "--", "true"], {"NSYS_X": "1"}, "NSYS_X tells of a tool"),
        (["record", "--", "true"], {"NSYS_X": "1"}, "jax_enable_pgle cannot be set"),
        (["record", "--to", "m.pb", "--", "no-such-command"], {}, "no-such-command: No such file"),
        (["convert", "x.nsys-rep"], {}, "nsys export --type sqlite"),
        (["check", "absent.pb", "--", "true"], {}, "absent.pb"),
        (["convert", "--to", "m.pb"], {}, "SOURCE"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], environ: dict[str, str], told: str, tmp_path: Path) -> None:
    """Before anything runs, and nothing is left behind."""
    command = [sys.executable, "-m", "jaxgpu_tune", "pgle", *words]
    env = clean_environ(**environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (1, 2) and told in " ".join(done.stderr.split())
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == []


def test_a_real_trace_is_converted_inspected_and_compared(tmp_path: Path) -> None:
    one, other = tmp_path / "one.pbtxt", tmp_path / "other.pb"
    done = pgle("convert", str(TRACE), "--to", str(one))
    assert done.returncode == 0 and "jit_step" in done.stdout and "pgle-command-buffers" in done.stderr
    assert pgle("convert", str(TRACE), "--to", str(other), "--percentile", "100").returncode == 0
    sidecar = read_sidecar(other)
    assert sidecar is not None and (sidecar.program, sidecar.percentile, sidecar.runs) == ("jit_step", 100, 1)
    shown = json.loads(pgle("inspect", str(one), "--json").stdout)
    assert shown["profiles"][""]["summary"]["communicating"] == 12 and shown["taken_with"]["program"] == "jit_step"
    changed = json.loads(pgle("diff", str(one), str(other), "--json").stdout)
    assert changed["only_before"] == changed["only_after"] == []
    assert all(change["after"] >= change["before"] for change in changed["changes"]) and changed["changes"]


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


@pytest.mark.slow
def test_check_ends_in_a_verdict_and_what_xla_said(tmp_path: Path) -> None:
    """One pair shows nothing, which is said; on the CPU XLA uses no profile, which is said too."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    (tmp_path / "loop.py").write_text(LOOP.format(steps=3000))
    words = [
        "check",
        str(path),
        "--pairs",
        "1",
        "--seconds",
        "0.3",
        "--json",
        "--",
        sys.executable,
        str(tmp_path / "loop.py"),
    ]
    done = pgle(*words, JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["name"] for one in told["comparison"]["variants"]] == ["auto", "auto + PGLE"]
    assert [one["code"] for one in told["findings"]] == ["pgle-not-used"]


def test_recording_a_program_that_fails_says_only_that(tmp_path: Path) -> None:
    done = pgle("record", "--store", str(tmp_path / "store"), "--", "sh", "-c", "exit 3", JAX_PLATFORMS="cpu")
    assert done.returncode == 3
    assert "exit code 3, so nothing counts as recorded" in done.stderr
    assert "pgle-not-used" not in done.stderr
