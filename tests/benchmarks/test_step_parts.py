"""The FSDP table: what a kept trace says, and a run of the script on the CPU."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.step_parts import CASES, kept, parts
from benchmarks.workloads import WORKLOADS
from tests.child import ROOT, clean_environ, compiled_once

TRACES = ROOT / "tests" / "measure" / "traces"


def test_every_case_is_a_workload() -> None:
    """Of the suite, with a preset of its own."""
    assert {case.workload for case in CASES.values()} <= set(WORKLOADS)
    assert {case.preset for case in CASES.values()} == {None, "fsdp"}


def test_a_kept_trace_tells_its_parts_again(tmp_path: Path) -> None:
    """Without JAX's own reader or a GPU, as JSON; a case without a trace has none."""
    found = json.loads(json.dumps(parts(TRACES, "fsdp-h200x2")))["gpus"]
    assert list(found) == ["/device:GPU:0", "/device:GPU:1"]
    assert sum(found["/device:GPU:0"]["parts"].values()) == pytest.approx(found["/device:GPU:0"]["step_ms"])
    assert "edges" not in found["/device:GPU:0"] and parts(tmp_path, "fsdp-h200x2") == {}


def test_a_kept_trace_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    """Another text of the same length takes its place, so that the file stays a trace."""
    (tmp_path / "raw").write_bytes(b"x" + str(ROOT).encode() + b"/train.py")
    kept(tmp_path / "raw", tmp_path / "kept.gz")
    told = gzip.decompress((tmp_path / "kept.gz").read_bytes())
    assert str(ROOT).encode() not in told and len(told) == (tmp_path / "raw").stat().st_size


def test_what_cannot_be_traced_is_told(tmp_path: Path) -> None:
    """No such workload or preset, no GPU; nothing is written."""
    (tmp_path / "machine.json").write_text('{"gpus": []}')
    without = {"JAXGPU_TUNE_MACHINE": str(tmp_path / "machine.json")}
    for given, told in (
        ("nope", "no such case: 'nope'"),
        ("decode:fsdpp", "no such case: 'decode:fsdpp'"),
        ("decode", "No NVIDIA GPU can be used here"),
    ):
        command = [sys.executable, "-m", "benchmarks.step_parts", "--only", given, "--out", str(tmp_path / "out")]
        done = subprocess.run(
            command, env=clean_environ(**without), cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode in (1, 2) and told in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_it_runs_on_the_cpu(tmp_path: Path) -> None:
    """Times, a trace and the settings of each; no GPU, no parts."""
    names = ["small-fsdp", "stencil:reproducible"]
    command = [sys.executable, "-m", "benchmarks.step_parts", "--platform", "cpu", "--out", str(tmp_path), "--only"]
    machine = {"JAXGPU_TUNE_MACHINE": str(ROOT / "tests" / "machines" / "h200x2_captured.json")}
    subprocess.run([*command, *names], cwd=ROOT, env=clean_environ(**compiled_once(), **machine), check=True)
    found = json.loads((tmp_path / "step-parts.json").read_text())["cases"]
    assert all(len(found[name]["step_ms"]) == 10 and found[name]["gpus"] == {} for name in names)
    assert found["small-fsdp"]["settings"] == {} != found["stencil:reproducible"]["settings"]
    assert (tmp_path / "small-fsdp.xplane.pb.gz").stat().st_size > 1000
