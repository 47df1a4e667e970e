"""The search for programs that hang in CUDA graphs: what does not come back is a result, and its neighbours are tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.graph_hang import MODE, NEIGHBOURS, PROGRAMS, SUSPECTED, ended
from jaxgpu_tune.knowledge.hazards import hazards
from tests.child import ROOT, clean_environ


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print('\\x01ready', flush=True); print('\\x01{\"ms\": 1}')", {"ms": 1}),
        ("print('\\x01ready', flush=True); import time; time.sleep(60)", {"waiting": 0.5}),
        ("import sys; sys.exit(1)", {"error": ""}),
        ("print('\\x01ready', flush=True); import sys; sys.exit(1)", {"error": ""}),
    ],
)
def test_what_does_not_come_back_is_told_apart_from_what_fails(code: str, told: dict[str, Any]) -> None:
    """Only what was compiled can hang."""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert ended(child, 0.5) == told
    assert child.returncode is not None


@pytest.mark.slow
def test_its_programs_end_on_the_cpu(tmp_path: Path) -> None:
    """None is an endless loop: it is for the CUDA graph to hang. Nothing hung, so no neighbour is tried."""
    pytest.importorskip("numpyro")
    command = [
        sys.executable,
        "-m",
        "benchmarks.graph_hang",
        "--platform",
        "cpu",
        "--limit",
        "60",
        "--out",
        str(tmp_path),
    ]
    subprocess.run(command, env=clean_environ(), cwd=ROOT, capture_output=True, timeout=500, check=True)
    runs = json.loads((tmp_path / "graph-hang.json").read_text())["runs"]
    assert [(run["program"], run["flags"]) for run in runs] == [(program, SUSPECTED) for program in PROGRAMS]
    assert all(run["ms"] > 0 and run["value"] == run["value"] for run in runs)


def test_the_hazard_is_about_these_settings() -> None:
    """What is suspected triggers it, what runs well does not."""
    (hazard,) = [one for one in hazards() if one.code == "concurrent-loops-hang"]

    def triggered(flags: str) -> bool:
        pairs = [flag.removeprefix("--").split("=") for flag in flags.split()]
        return hazard.triggered_by({("xla_flag", name): value for name, value in pairs})

    assert triggered(SUSPECTED) and triggered(NEIGHBOURS["CONCURRENT with WHILE"])
    assert not triggered(MODE) and not triggered(NEIGHBOURS["WHILE and CONDITIONAL"]) and not triggered("")
