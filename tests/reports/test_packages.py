"""Section F of the reports: installed pieces that do not fit, told before JAX crashes or runs on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import plan
from jaxgpu_tune.host.surroundings import surroundings
from jaxgpu_tune.knowledge.tables import read_table
from jaxgpu_tune.planning.findings.diagnose import diagnose
from tests.cli.typed import call
from tests.fleet import codes, decision, machine


def plugins(cuda: int, version: str, pjrt: str | None = None) -> dict[str, str]:
    """Both halves of a plugin."""
    return {f"jax-cuda{cuda}-plugin": version, f"jax-cuda{cuda}-pjrt": pjrt or version}


def found(**here: Any) -> dict[str, jaxgpu_tune.Finding]:
    """Code -> finding of a plan for one H100, but for what is said."""
    report = plan("auto", machine=machine(**{"count": 1, **here}), environ={}, probe=False)
    return {finding.code: finding for finding in report.findings}


def test_R57_plugins_of_another_release_are_told_with_the_line_for_pip() -> None:
    """plugin 0.4.32 and later with an older jaxlib: a segmentation fault at the first array."""
    told = found(jaxlib="0.4.31", plugins=plugins(12, "0.4.35"))
    assert told.keys() == {"version-skew"} and told["version-skew"].severity == "error"
    assert "pip install 'jax[cuda12]==0.4.31'" in told["version-skew"].hint
    assert "0.4.35" in told["version-skew"].message


@pytest.mark.parametrize(
    ("jax", "jaxlib", "there", "code", "line"),
    [
        ("0.11.2", "0.10.2", plugins(13, "0.11.2"), "jaxlib-too-old", "pip install 'jax[cuda13]==0.11.2'"),
        ("0.10.2", "0.11.2", plugins(13, "0.11.2"), "jaxlib-too-new", "pip install 'jax[cuda13]==0.11.2'"),
        ("0.9.0", "0.9.0.1", plugins(12, "0.9.2"), "jaxlib-too-new", "pip install 'jax[cuda12]==0.9.0.1'"),
        ("0.4.37", "0.4.34", {}, "jaxlib-too-old", "pip install jax==0.4.37"),
        ("0.11.2", "0.11.2", plugins(13, "0.11.2", "0.11.1"), "version-skew", "pip install 'jax[cuda13]==0.11.2'"),
        (
            "0.11.2",
            "0.11.2",
            plugins(12, "0.4.35") | plugins(13, "0.11.2"),
            "version-skew",
            "pip uninstall jax-cuda12-plugin jax-cuda12-pjrt",
        ),
    ],
)
def test_R57_what_does_not_fit_is_told_once_with_one_line_that_mends_all(
    jax: str, jaxlib: str, there: dict[str, str], code: str, line: str
) -> None:
    """Lines that contradict each other mend nothing: https://github.com/jax-ml/jax/issues/24901"""
    told = found(jax=jax, jaxlib=jaxlib, plugins=there)
    told.pop("no-cuda-plugin", None)
    assert told.keys() == {code} and told[code].hint.endswith(line)


def test_R57_what_is_installed_is_no_fault_of_a_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither of the flags that are set, nor of a line in a file: https://github.com/jax-ml/jax/issues/24901"""
    file, script = tmp_path / "machine.json", tmp_path / "job.sh"
    file.write_text(json.dumps(machine(jaxlib="0.4.31", plugins=plugins(12, "0.4.35")).to_dict()))
    script.write_text("export XLA_FLAGS=--xla_gpu_autotune_level=2\n")
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    for command in (
        ["check", "--file", str(script)],
        ["check", "--", "--xla_dump_to=a"],
        ["migrate", "--", "--xla_dump_to=a"],
    ):
        assert call(*command).exit_code == 0
    assert "version-skew" in call("doctor").stdout


def test_R58_a_fourth_number_counts_and_a_post_release_does_not() -> None:
    """jaxlib compares the numbers that a version begins with (jaxlib/plugin_support.py)."""
    assert "version-skew" in found(jaxlib="0.9.0.1", plugins=plugins(12, "0.9.2"))
    assert "plugin-unused" in found(jaxlib="0.9.0.1", plugins=plugins(12, "0.9.2", pjrt="0.9.0.1"))
    assert "plugin-unused" not in found(jaxlib="0.9.2", plugins=plugins(12, "0.9.2.post1", pjrt="0.9.2"))
    assert found(jaxlib="0.9.2") == {}


@pytest.mark.parametrize(
    ("jax", "jaxlib", "code"),
    [
        ("0.11.1", "0.11.2", "jaxlib-too-new"),
        ("0.11.2", "0.11.1", "jaxlib-too-old"),
        ("0.12.0.1", "0.11.1", "jaxlib-too-old"),
        ("0.12.0.1", "0.11.2", None),
        ("0.4.26", "0.4.20", None),
        ("0.4.26", "0.4.19", "jaxlib-too-old"),
    ],
)
def test_R58_what_jax_refuses_to_be_imported_with(jax: str, jaxlib: str, code: str | None) -> None:
    told = found(jax=jax, jaxlib=jaxlib)
    assert {c for c in told if c.startswith("jaxlib-")} == ({code} if code else set())
    assert code is None or ("pip install" in told[code].hint and told[code].severity == "error")


def test_R58_the_table_says_of_the_installed_jax_what_it_says_itself() -> None:
    import jax.version

    least = read_table("installs")["jaxlib"]
    assert least.get(jax.__version__, jax.version._minimum_jaxlib_version) == jax.version._minimum_jaxlib_version


def test_R58_strict_raises_before_the_crash() -> None:
    with pytest.raises(jaxgpu_tune.BadSetting, match="pjrt 0"):
        plan("auto", machine=machine(jaxlib="0.9.0.1", plugins=plugins(12, "0.9.2")), environ={}, strict=True)


def test_R58_half_a_plugin_two_plugins_and_none() -> None:
    assert "half-a-plugin" in found(plugins={"jax-cuda13-pjrt": "0.11.2"})
    assert "two-cuda-plugins" in found(plugins=plugins(12, "0.11.2") | plugins(13, "0.11.2"))
    none = found(plugins={}, cuda_driver="12.8")["no-cuda-plugin"]
    assert none.hint == "pip install 'jax[cuda12]==0.11.2'"
    assert "no-cuda-plugin" not in found(jaxlib="0.6.2+cuda126", jax="0.6.2", plugins={})


@pytest.mark.parametrize(
    ("release", "library", "version", "told"),
    [
        ("0.6.0", "nvidia-cudnn-cu12", "9.5.1.17", True),
        ("0.5.3", "nvidia-cudnn-cu12", "9.5.1.17", False),
        ("0.11.2", "nvidia-cudnn-cu12", "9.8.0.87", True),
        ("0.11.2", "nvidia-cudnn-cu12", "9.10.2.21", False),
        ("0.11.2", "nvidia-nccl-cu12", "2.17.1", True),
        ("0.11.2", "nvidia-nvjitlink-cu12", "12.0.140", True),
        ("0.11.2", "nvidia-nccl-cu13", "2.0", False),
    ],
)
def test_R58_nvidias_wheels_below_what_the_plugin_asks_for(
    release: str, library: str, version: str, told: bool
) -> None:
    """As another package's pin leaves them."""
    here = found(jaxlib=release, plugins=plugins(12, release), libraries={library: version})
    assert ("cuda-library-too-old" in here) is told
    assert not told or f"'{library}>=" in here["cuda-library-too-old"].hint


def test_R60_a_cuda_folder_of_the_users_stays() -> None:
    text = "--xla_gpu_cuda_data_dir=/opt/cuda-12.4"
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": text})
    assert text in report.xla_flags.split() and decision(report, "xla_gpu_cuda_data_dir").status == "kept"
    assert "cuda_data_dir" not in plan("fsdp", machine=machine(), environ={"CUDA_HOME": "/opt/cuda"}).xla_flags


def test_R60_a_compiler_below_cuda_home_is_suggested_only_where_it_is_and_none_else(tmp_path: Path) -> None:
    here = machine(count=1)
    environ = {"CUDA_HOME": str(tmp_path / "none"), "CONDA_PREFIX": str(tmp_path)}
    assert surroundings(environ).compiler_folder is None
    (tmp_path / "nvvm" / "libdevice").mkdir(parents=True)
    around = surroundings(environ)._replace(cuda_folders=(), shared_memory_bytes=None)
    flag = f"XLA_FLAGS=--xla_gpu_cuda_data_dir={tmp_path}"
    assert [f.hint for f in diagnose(here, environ, around)] == [flag]
    assert not [*diagnose(here, {**environ, "XLA_FLAGS": "--xla_gpu_cuda_data_dir=/x"}, around)]
    assert not [*diagnose(here._replace(libraries={"nvidia-cuda-nvcc": "13.0.48"}), environ, around)]


def gpu(capability: str, name: str = "NVIDIA") -> list[dict[str, Any]]:
    """One GPU of a compute capability."""
    return [{"index": 0, "name": name, "compute_capability": capability}]


@pytest.mark.parametrize(
    ("capability", "cuda", "nvcc", "code"),
    [
        ("10.7", 12, "12.9.86", "gpu-too-new"),
        ("10.7", 12, None, "gpu-too-new"),
        ("10.0", 12, "12.6.85", "gpu-too-new"),
        ("12.0", 12, "12.9.86", None),
        ("12.1", 12, "12.8.93", "gpu-too-new"),
        ("9.0", 12, "12.6.85", None),
        ("10.7", 13, "13.3.10", None),
        ("7.0", 13, "13.0.48", "gpu-too-old"),
        ("7.5", 13, "13.0.48", None),
        ("7.0", 12, "12.6.85", None),
    ],
)
def test_R61_a_gpu_that_the_plugins_cuda_does_not_know(
    capability: str, cuda: int, nvcc: str | None, code: str | None
) -> None:
    """At both ends; what a compiler newer than the table knows is left open."""
    name = "nvidia-cuda-nvcc-cu12" if cuda == 12 else "nvidia-cuda-nvcc"
    libraries = {name: nvcc} if nvcc else None
    told = found(plugins=plugins(cuda, "0.11.2"), gpus=gpu(capability), libraries=libraries)
    assert {c for c in told if c.startswith("gpu-")} == ({code} if code else set())
    assert code != "gpu-too-new" or "jax[cuda13]" in told[code].hint


@pytest.mark.parametrize(
    ("capability", "serves", "hint"),
    [
        ("12.0", "13.0", "pip install -U 'jax[cuda13]'"),
        ("12.0", None, "pip install -U 'jax[cuda13]'"),
        (
            "12.0",
            "12.8",
            "pip install -U 'jax[cuda12]' 'nvidia-cuda-nvcc-cu12>=12.8', since this driver does not serve",
        ),
        (
            "12.1",
            "12.9",
            "pip install -U 'jax[cuda12]' 'nvidia-cuda-nvcc-cu12>=12.9', since this driver does not serve",
        ),
        (
            "10.7",
            "12.9",
            "Update the driver to 580.65.06 or newer, then pip install -U 'jax[cuda13]': no compiler of CUDA 12",
        ),
    ],
)
def test_R61_the_newer_compiler_is_one_that_the_driver_serves(capability: str, serves: str | None, hint: str) -> None:
    """No way out that leads to driver-too-old."""
    libraries = {"nvidia-cuda-nvcc-cu12": "12.6.85"}
    told = found(plugins=plugins(12, "0.11.2"), gpus=gpu(capability), libraries=libraries, cuda_driver=serves)
    assert told["gpu-too-new"].hint.startswith(hint)


@pytest.mark.parametrize(
    ("driver", "serves", "cuda", "told"),
    [("570.86.15", "12.8", 13, True), ("580.65.06", "13.0", 13, False), ("470.57.02", "11.4", 12, True)],
)
def test_R61_a_driver_older_than_the_plugin_needs(driver: str, serves: str, cuda: int, told: bool) -> None:
    here = found(plugins=plugins(cuda, "0.11.2"), driver=driver, cuda_driver=serves)
    assert ("driver-too-old" in here) is told
    assert not told or ("580.65.06" if cuda == 13 else "525.60.13") in here["driver-too-old"].hint


@pytest.mark.parametrize(
    ("capability", "nvcc", "code", "gone"),
    [("10.7", "13.3.10", "gpu-too-new", 12), ("7.0", "13.0.48", "gpu-too-old", 13), ("9.0", "13.0.48", "", 12)],
)
def test_R61_of_two_plugins_the_one_that_does_not_fit_goes(capability: str, nvcc: str, code: str, gone: int) -> None:
    """pip leaves the old plugin where it installs jax[cuda13], as the advice of before was: https://github.com/openxla/xla/issues/47982"""
    both = {**plugins(12, "0.11.2"), **plugins(13, "0.11.2")}
    libraries = {"nvidia-cuda-nvcc": nvcc, "nvidia-cuda-nvcc-cu12": "12.9.86"}
    told = found(plugins=both, gpus=gpu(capability), libraries=libraries)
    hint = f"pip uninstall jax-cuda{gone}-plugin jax-cuda{gone}-pjrt"
    assert {told[name].hint for name in ("two-cuda-plugins", code) if name} == {hint}
    assert {c for c in told if c.startswith("gpu-")} == ({code} if code else set())
    if code:
        alone = found(plugins=plugins(gone, "0.11.2"), gpus=gpu(capability), libraries=libraries)
        assert hint in alone[code].hint and f"jax[cuda{25 - gone}]" in alone[code].hint


def test_R61_nothing_is_guessed() -> None:
    """A machine of which little is known, and a driver that reports what is no version."""
    assert codes(plan("auto", machine={"gpus": [{}], "jaxlib": "0.11.2"}, environ={})) == set()
    assert "driver-too-old" not in found(driver="?", cuda_driver="13.0")
