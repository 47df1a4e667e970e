"""The search for programs that hang in CUDA graphs: what does not come back is a result, and its neighbours are tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.graph_hang import MODE, NEIGHBOURS, PROGRAMS, SUSPECTED
from jaxgpu_tune.knowledge.hazards import hazards
from tests.child import ROOT, clean_environ


@pytest.mark.slow
def test_what_does_not_come_back_is_told_and_its_neighbours_are_tried(tmp_path: Path) -> None:
    """With a limit that no program keeps, the first one counts as hanging."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.graph_hang",
        "--platform",
        "cpu",
        "--limit",
        "0.05",
        "--out",
        str(tmp_path),
    ]
    subprocess.run(command, env=clean_environ(), cwd=ROOT, capture_output=True, timeout=100, check=True)
    runs = json.loads((tmp_path / "graph-hang.json").read_text())["runs"]
    assert [run["flags"] for run in runs] == [SUSPECTED, *NEIGHBOURS.values()]
    assert {run["program"] for run in runs} == {next(iter(PROGRAMS))} and all(run["waiting"] == 0.05 for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("program", list(PROGRAMS)[:3])
def test_a_program_of_loops_ends_on_the_cpu(program: str) -> None:
    """It is no endless loop: it is for the CUDA graph to hang."""
    command = [sys.executable, "-m", "benchmarks.graph_hang", "--child", program]
    environ = clean_environ(JAX_PLATFORMS="cpu")
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=100, check=True)
    told = json.loads(done.stdout.strip().removeprefix("\x01"))
    assert told["ms"] > 0 and told["value"] == told["value"]


def test_the_hazard_is_about_these_settings() -> None:
    """What is suspected triggers it, what runs well does not."""
    (hazard,) = [one for one in hazards() if one.code == "concurrent-loops-hang"]

    def triggered(flags: str) -> bool:
        pairs = [flag.removeprefix("--").split("=") for flag in flags.split()]
        return hazard.triggered_by({("xla_flag", name): value for name, value in pairs})

    assert triggered(SUSPECTED) and triggered(NEIGHBOURS["CONCURRENT with WHILE"])
    assert not triggered(MODE) and not triggered(NEIGHBOURS["WHILE and CONDITIONAL"]) and not triggered("")
