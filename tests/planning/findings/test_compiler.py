"""CUDA's compiler: newer than the driver, of PATH, in a folder that JAX overwrites or that holds nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune import Machine, plan
from jaxgpu_tune.host.cuda_folder import cuda_folder_findings
from jaxgpu_tune.host.surroundings import surroundings
from jaxgpu_tune.planning.findings.compiler import slow_compiles
from jaxgpu_tune.planning.findings.diagnose import diagnose
from tests.fleet import machine

MACHINES = Path(__file__).resolve().parents[2] / "machines"
NVCC = "nvidia-cuda-nvcc-cu12"


def of_driver(serves: str | None, ptxas: str | None, jaxlib: str = "0.4.30") -> Machine:
    """A machine with a driver and NVIDIA's compiler wheel."""
    return machine(jaxlib=jaxlib, cuda_driver=serves, libraries={NVCC: ptxas} if ptxas else {})


@pytest.mark.parametrize(
    ("serves", "ptxas", "jaxlib", "slow"),
    [
        ("12.2", "12.5.40", "0.4.30", True),
        ("12.2", "12.3.107", "0.4.24", True),
        ("12.4", "12.6.85", "0.4.31", True),
        ("12.5", "12.5.82", "0.4.30", False),
        ("12.8", "12.5.40", "0.4.30", False),
        ("12.2", "12.5.40", "0.4.23", False),
        ("12.2", "12.5.40", "0.4.35", False),
        (None, "12.5.40", "0.4.30", False),
        ("12.2", None, "0.4.30", False),
    ],
)
def test_a_driver_older_than_ptxas_makes_compiling_slow(serves: str, ptxas: str, jaxlib: str, slow: bool) -> None:
    found = [*slow_compiles(of_driver(serves, ptxas, jaxlib), 12)]
    assert [f.code for f in found] == ["compiles-one-by-one"] * slow
    assert all(f.severity == "note" and f"'{NVCC}=={serves}.*'" in f.hint for f in found)


def test_it_is_told_of_a_plan() -> None:
    here = json.loads((MACHINES / "rtx3060_driver_535.json").read_text())
    assert "compiles-one-by-one" in {f.code for f in plan("auto", machine=here, environ={}).findings}


@pytest.mark.parametrize(("jaxlib", "told"), [("0.4.20", True), ("0.4.23", True), ("0.4.30", False)])
def test_the_ptxas_of_path_comes_first_in_old_releases(tmp_path: Path, jaxlib: str, told: bool) -> None:
    """Where NVIDIA's wheel brings one, too: without it that of PATH is the only one."""
    (tmp_path / "ptxas").write_text("#!/bin/sh\n")
    (tmp_path / "ptxas").chmod(0o755)
    around = surroundings({"PATH": f"/nowhere:{tmp_path}"})
    assert around.ptxas_folder == str(tmp_path)

    def codes(here: Machine) -> set[str]:
        return {f.code for f in diagnose(here, {}, around)}

    assert ("ptxas-of-path" in codes(of_driver("12.8", "12.3.107", jaxlib))) is told
    assert "ptxas-of-path" not in codes(of_driver("12.8", None, jaxlib))


@pytest.mark.parametrize("origin", ["inherited", "argument"])
def test_a_folder_beside_the_wheels_is_overwritten_by_jax(origin: str) -> None:
    name, folder = "xla_gpu_cuda_data_dir", "/opt/cuda-12.4"
    asked: dict[str, Any] = {"environ": {}, "flags": {name: folder}}
    asked = {"environ": {"XLA_FLAGS": f"--{name}={folder}"}} if origin == "inherited" else asked
    (found,) = [f for f in plan("auto", machine=of_driver("12.8", "12.6.85"), **asked).findings if "cuda" in f.code]
    assert (found.code, found.severity) == ("cuda-folder-overwritten", "note") and folder in found.message
    assert not [f for f in plan("auto", machine=of_driver("12.8", None), **asked).findings if "cuda" in f.code]


def test_a_folder_without_libdevice_is_told_where_it_counts(tmp_path: Path) -> None:
    """On this host, with GPUs, and without the wheels."""
    bare, wheels = of_driver("12.8", None), of_driver("12.8", "12.6.85")
    assert [(f.code, f.severity) for f in cuda_folder_findings(str(tmp_path), bare)] == [
        ("cuda-folder-empty", "warning")
    ]
    assert not [*cuda_folder_findings(str(tmp_path), wheels)] and not [
        *cuda_folder_findings(str(tmp_path), machine(count=0))
    ]
    (tmp_path / "nvvm" / "libdevice").mkdir(parents=True)
    assert not [*cuda_folder_findings(str(tmp_path), bare)]


def test_the_disk_of_this_host_says_nothing_of_another_machine() -> None:
    report = plan("auto", machine=of_driver("12.8", None), environ={"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/none"})
    assert "cuda-folder-empty" not in {f.code for f in report.findings}
