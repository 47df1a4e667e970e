"""The settings that a profile is taken with, and what forbids it."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.pgle.recording import RECORDING, obstacles, refusals

H200 = {"name": "NVIDIA H200", "compute_capability": "9.0", "memory_bytes": 150 << 30, "count": 2}


@pytest.mark.parametrize("release", ["0.4.30", "0.5.3", "0.7.2", "0.11.2", "0.12.0.1"])
def test_every_release_takes_the_settings(release: str) -> None:
    report = jaxgpu_tune.plan(
        "fsdp", environ={}, flags=RECORDING, machine={"gpus": [H200], "jax": release, "jaxlib": release}
    )
    assert "--xla_gpu_enable_latency_hiding_scheduler=true" in report.xla_flags
    assert "--xla_gpu_enable_command_buffer= " in report.xla_flags + " "
    assert "disable_async_collectives=allreduce,allgather,reducescatter" in report.xla_flags
    assert not [one for one in report.findings if one.severity == "error"]


@pytest.mark.parametrize(
    ("release", "option", "refused"),
    [
        ("0.11.2", "auto", False),
        ("0.4.28", "auto", True),
        ("0.11.2", "expect", False),
        ("0.5.0", "expect", True),
    ],
)
def test_a_release_without_the_option_is_refused(release: str, option: str, refused: bool) -> None:
    machine = {"gpus": [H200], "jax": release, "jaxlib": release, "processes": {"count": 1}}
    report = jaxgpu_tune.plan("auto", environ={}, machine=machine, pgle=option, compilation_cache="/c")
    name = {"auto": "jax_enable_pgle", "expect": "jax_compilation_cache_expect_pgle"}[option]
    assert [one.severity for one in refusals(report, name)] == ["error"] * refused


def test_several_processes_are_refused() -> None:
    machine = {"gpus": [H200], "jax": "0.11.2", "jaxlib": "0.11.2", "processes": {"count": 2}}
    report = jaxgpu_tune.plan("auto", environ={}, machine=machine, pgle="auto")
    (found,) = refusals(report, "jax_enable_pgle")
    assert "2 processes" in found.message


def test_who_holds_cupti(tmp_path: Path) -> None:
    """A tool that watches this very command forbids it; a daemon may."""
    for number, name in enumerate(("python", "nv-hostengine")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "comm").write_text(f"{name}\n")
    (tmp_path / "2").mkdir()
    found = list(obstacles({"NSYS_PROFILING_SESSION_ID": "1"}, tmp_path))
    assert [(one.code, one.severity) for one in found] == [
        ("pgle-refused", "error"),
        ("pgle-other-profiler", "warning"),
    ]
    assert list(obstacles({"NSYS_X": ""}, tmp_path / "0")) == []
