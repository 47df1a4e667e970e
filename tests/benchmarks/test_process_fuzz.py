"""The fuzz of whole processes: its cases, its verdicts, one case tried; and what the kept run says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.process_fuzz import MENDED, PLAIN, cases, lost, ran

RESULT = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "process_fuzz.json"


def test_cases_are_the_same_for_the_same_seed_and_differ_otherwise() -> None:
    assert cases(20, 3) == cases(20, 3) != cases(20, 4)
    assert all(case["names"] and case["environ"]["XLA_FLAGS"] for case in cases(50, 1))


def test_a_flag_is_lost_where_nothing_tells_of_it() -> None:
    told = {"flags": "--xla_a=1", "findings": ["--xla_b is left out"]}
    assert lost(["xla_a", "xla_b", "xla_c"], told) == ["xla_c"]


@pytest.mark.slow
def test_a_process_that_would_end_lives_with_configure() -> None:
    environ = {
        "XLA_FLAGS": "--xla_gpu_enable_async_collectives=true --xla_gpu_autotune_level=2",
        "JAX_PLATFORMS": "cpu",
    }
    assert ran(sys.executable, PLAIN, environ)[0] != 0
    status, text, _ = ran(sys.executable, MENDED, environ)
    assert status == 0
    told = json.loads(text)
    assert told["devices"] == 1 and lost(["xla_gpu_enable_async_collectives", "xla_gpu_autotune_level"], told) == []


def test_the_kept_run_lost_no_process_and_no_flag() -> None:
    """On three releases; without configure() many of the same processes end."""
    found = json.loads(RESULT.read_text())["jaxlib"]
    assert len(found) >= 3
    for result in found.values():
        assert result["live_with"] == result["processes"] and result["wrong"] == []
        assert result["live_without"] < result["live_with"]
