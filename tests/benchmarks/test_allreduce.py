"""The benchmark of AllReduce runs where there is no GPU, through lax.psum; what it held on GPUs is what is claimed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from child import ROOT, clean_environ


@pytest.mark.slow
def test_it_runs_without_a_gpu(tmp_path: Path) -> None:
    """At small sizes, in one process and in two; the sums are right, and no stage ends badly."""
    stages = ("correct", "stress", "decode", "together")
    command = [sys.executable, "-m", "benchmarks.allreduce", "--out", str(tmp_path), "--stages", *stages]
    environ = clean_environ(CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")
    subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=280, check=True)
    found = json.loads((tmp_path / "allreduce.json").read_text())
    told = [rank for stage, one in found.items() if stage != "machine" for rank in one.get("ranks", [one])]
    assert len(told) == 5 and all(one["found"] and "status" not in one for one in told), told
    assert found["stress"]["found"]["result"]["wrong"] == 0
    correct = found["correct"]["found"]["result"]
    assert all(one["nan right"] and one["ranks alike"] and one["error"] < 0.01 for one in correct["sums"])
    assert all(max(one["errors"]) < 0.01 and one["ranks alike"] for one in correct["rows"])
