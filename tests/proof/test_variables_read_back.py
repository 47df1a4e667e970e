"""What the allocator, the devices and NCCL's log tell of variables: numbers as two H200 with jax 0.11.2 gave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.proof.memory_read_back import AllocatorNumbers, verified_fraction
from jaxgpu_tune.proof.variables_read_back import Signs, verified_variable
from jaxgpu_tune.proof.wanted import Wanted

MEASURED = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "verify-presets-h200x2.json").read_text())
TOTALS = [gpu["memory_bytes"] for gpu in MEASURED["machine"]["gpus"]]


def verified(name: str, value: str, case: str = "fraction 0.4", log: str = "", **environ: str) -> Any:
    """A variable, read back with the memory numbers of a case that was run."""
    stats = [one or {} for one in MEASURED["cases"][case]["memory"]]
    memory = tuple(AllocatorNumbers(total, one) for total, one in zip(TOTALS, stats, strict=True))
    return verified_variable(Wanted("env", name, (value,)), Signs("gpu", {name: value, **environ}, memory, log))


@pytest.mark.parametrize(
    ("case", "value", "status"),
    [
        ("fraction 0.4", "0.4", "effective"),
        ("fraction 0.4", "0.5", "ignored"),
        ("fraction auto", "0.92", "effective"),
        ("fraction 0.3, not preallocated", "0.3", "effective"),
        ("allocator cuda_async", "0.3", "effective"),
        ("allocator platform", "0.3", "unreadable"),
        ("set too late", "0.75", "effective"),
    ],
)
def test_the_fraction_is_held_against_the_limit(case: str, value: str, status: str) -> None:
    item = verified("XLA_CLIENT_MEM_FRACTION", value, case)
    assert item.status == status
    assert status == "unreadable" or "of the GPU's memory" in item.why


def test_the_fraction_was_honoured_within_one_percent() -> None:
    limits = [one["bytes_limit"] for one in MEASURED["cases"]["fraction 0.4"]["memory"]]
    assert all(abs(limit / (0.4 * total) - 1) < 0.01 for limit, total in zip(limits, TOTALS, strict=True))


@pytest.mark.parametrize(("limit", "status"), [(75, "effective"), (50, "ignored")])
def test_an_empty_fraction_is_the_usual_one(limit: int, status: str) -> None:
    """jaxlib takes it for none."""
    assert verified_fraction("", (AllocatorNumbers(100, {"bytes_limit": limit}),))[0] == status


@pytest.mark.parametrize(
    ("case", "value", "status"),
    [
        ("fraction 0.4", "true", "effective"),
        ("fraction 0.4", "false", "unreadable"),
        ("fraction 0.3, not preallocated", "false", "effective"),
        ("fraction 0.3, not preallocated", "true", "ignored"),
        ("allocator platform", "true", "unreadable"),
    ],
)
def test_preallocation_shows_in_the_size_of_the_pool(case: str, value: str, status: str) -> None:
    assert verified("XLA_PYTHON_CLIENT_PREALLOCATE", value, case).status == status


@pytest.mark.parametrize(
    ("case", "value", "status"),
    [
        ("fraction 0.4", "bfc", "effective"),
        ("fraction 0.4", "platform", "ignored"),
        ("allocator platform", "platform", "effective"),
        ("allocator cuda_async", "cuda_async", "effective"),
        ("allocator cuda_async", "default", "ignored"),
        ("fraction 0.4", "vmm", "unreadable"),
    ],
)
def test_allocators_are_told_by_the_numbers_they_keep(case: str, value: str, status: str) -> None:
    assert verified("XLA_PYTHON_CLIENT_ALLOCATOR", value, case).status == status


def test_a_fraction_changed_afterwards_says_which_value_counts() -> None:
    item = verified("XLA_CLIENT_MEM_FRACTION", "0.4", XLA_CLIENT_MEM_FRACTION="0.9")
    assert item.status == "overwritten"
    assert item.why == "set to '0.9' after configure(); what was applied took effect"
    assert "did not take effect" in verified("XLA_CLIENT_MEM_FRACTION", "0.9", XLA_CLIENT_MEM_FRACTION="0.4").why


def test_nccl_tells_by_its_log_alone() -> None:
    log = "host:1:2 [0] NCCL INFO NCCL_PROTO set by environment to LL128\n"
    assert verified("NCCL_PROTO", "LL128", log=log).status == "effective"
    assert verified("NCCL_DEBUG", "INFO", log=log).status == "effective"
    assert verified("NCCL_PROTO", "LL", log=log).status == "unreadable"
    assert "NCCL_DEBUG_FILE" in verified("NCCL_PROTO", "LL128").why


def test_visible_devices_are_counted_and_what_no_one_tells_is_unreadable() -> None:
    assert verified("CUDA_VISIBLE_DEVICES", "3,1").status == "effective"
    assert verified("CUDA_VISIBLE_DEVICES", "0,1,2").status == "unreadable"
    assert "CUDA driver" in verified("CUDA_DEVICE_MAX_CONNECTIONS", "1").why
