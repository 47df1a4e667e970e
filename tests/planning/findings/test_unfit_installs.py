"""NVIDIA's wheels too old for the plugin, too new for the GPU, or both; GPUs that no CUDA of JAX's knows; a release's own fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import Finding, Machine, plan
from jaxgpu_tune.knowledge import installs as known
from jaxgpu_tune.knowledge.versions import version_key
from jaxgpu_tune.model import Observation
from jaxgpu_tune.planning.findings.unfit_installs import misfits, shared_flags
from tests.fleet import machine

MACHINES = Path(__file__).resolve().parents[2] / "machines"
CUDNN = "nvidia-cudnn-cu12"


def of_file(name: str, **changes: Any) -> Machine:
    """A machine of tests/machines, with some facts changed."""
    return Machine.from_dict({**json.loads((MACHINES / f"{name}.json").read_text()), **changes})


def told(here: Machine, **asked: Any) -> dict[str, Finding]:
    """Code -> finding of a plan in an empty environment."""
    report = plan("auto", **{"machine": here, "environ": {}, "probe": False, **asked})
    return {finding.code: finding for finding in report.findings}


def with_cudnn(version: str, capability: str, plugin: str = "0.7.2") -> dict[str, Finding]:
    """What is told of one GPU beside one cuDNN."""
    gpu = {"name": "a card", "compute_capability": capability, "memory_bytes": 2**34}
    plugins = {f"jax-cuda12-{part}": plugin for part in ("plugin", "pjrt")}
    facts = {"gpus": [gpu], "jax": plugin, "jaxlib": plugin, "plugins": plugins, "libraries": {CUDNN: version}}
    return told(Machine.from_dict(facts))


@pytest.mark.parametrize(
    ("version", "capability", "too_new"),
    [
        ("9.24.0.43", "7.0", True),
        ("9.11.0.98", "7.0", True),
        ("9.11", "6.1", True),
        ("9.10.2.21", "7.0", False),
        ("9.8.0.87", "6.0", False),
        ("9.24.0.43", "7.5", False),
        ("9.24.0.43", "9.0", False),
    ],
)
def test_cudnn_from_9_11_on_has_no_code_for_what_is_before_turing(version: str, capability: str, too_new: bool) -> None:
    """As read off the wheels; the line for pip keeps both bounds."""
    found = with_cudnn(version, capability)
    assert ("cuda-library-too-new" in found) is too_new
    if too_new:
        one = found["cuda-library-too-new"]
        assert one.severity == "warning" and capability in one.message
        assert one.hint == f"pip install -U '{CUDNN}>=9.8,<9.11'"


@pytest.mark.parametrize(
    ("name", "code"), [("v100_cudnn_9_24", "cuda-library-too-new"), ("v100_cudnn_9_1", "cuda-library-too-old")]
)
def test_neither_hint_leads_a_volta_from_one_fault_into_the_other(name: str, code: str) -> None:
    found = told(of_file(name))
    assert {c for c in found if c.startswith("cuda-library")} == {code}
    assert found[code].hint == f"pip install -U '{CUDNN}>=9.8,<9.11'"


def test_on_a_gpu_that_every_cudnn_knows_the_hint_has_no_upper_bound() -> None:
    assert told(of_file("h100_cudnn_9_5"))["cuda-library-too-old"].hint == f"pip install -U '{CUDNN}>=9.8'"


def test_beside_pytorch_which_pins_its_wheels_another_environment_is_advised() -> None:
    hint = told(of_file("h100_torch_2_4"))["cuda-library-too-old"].hint
    assert "environment of its own" in hint and "2.4.1" in hint


@pytest.mark.parametrize(
    ("capability", "cuda", "serves"),
    [("3.5", 12, None), ("3.7", 12, None), ("7.0", 13, 12), ("5.0", 13, None), ("5.2", 13, 12)],
)
def test_a_gpu_too_old_is_offered_only_what_runs_on_it(capability: str, cuda: int, serves: int | None) -> None:
    release = "0.8.2"
    plugins = {f"jax-cuda{cuda}-{part}": release for part in ("plugin", "pjrt")}
    gpus = [{"name": "Tesla", "compute_capability": capability}]
    found = told(Machine.from_dict({"gpus": gpus, "jax": release, "jaxlib": release, "plugins": plugins}))[
        "gpu-too-old"
    ]
    assert found.severity == "error"
    assert (f"jax[cuda{serves}]" in found.hint) if serves else ("jax[" not in found.hint and "no plugin" in found.hint)


def test_a_kepler_is_not_told_to_install_what_is_there() -> None:
    assert "jax[cuda12]" not in told(of_file("k20"))["gpu-too-old"].hint


def test_initialize_of_0_4_26_leaves_every_process_on_its_cpu() -> None:
    """jax-ml/jax#20711; neither a process alone, nor the release after it, nor a job on CPUs."""
    here = of_file("slurm_jax_0_4_26")
    assert told(here)["initialize-on-cpu"].severity == "error"
    assert "initialize-on-cpu" not in told(here._replace(processes=here.processes._replace(count=1)))
    newer = {
        "jax": "0.4.28",
        "jaxlib": "0.4.28",
        "plugins": {"jax-cuda12-plugin": "0.4.28", "jax-cuda12-pjrt": "0.4.28"},
    }
    assert "initialize-on-cpu" not in told(here._replace(**newer))
    assert "initialize-on-cpu" not in told(here, platform="cpu")


OF_XLA = {"tensorflow": "tensorflow", "tensorflow-cpu": "tensorflow", "tf-nightly": "tensorflow", "torch-xla": "torch_xla"}  # fmt: skip


@given(st.sets(st.sampled_from([*OF_XLA, "torch", "numpy"])), st.sets(st.sampled_from([*OF_XLA.values(), "torch"])))
def test_every_other_xla_is_told_once(installed: set[str], imported: set[str]) -> None:
    """A warning where it is imported, a note where it is installed only, nothing without flags."""
    here = machine(libraries=dict.fromkeys(installed, "2.1"))
    seen = Observation(here, modules=frozenset(imported))
    found = list(shared_flags(seen, "--xla_x=1"))
    both = {OF_XLA[name] for name in installed & set(OF_XLA)} | imported & set(OF_XLA.values())
    expected = [("warning" if name in imported else "note", name in imported) for name in sorted(both)]
    assert [(one.severity, "is imported here" in one.message) for one in found] == expected
    assert {one.code for one in found} <= {"xla-flags-shared"} and not list(shared_flags(seen, ""))
    for module, one in zip(sorted(both), found, strict=True):
        names = [f"{name} 2.1" for name in installed & set(OF_XLA) if OF_XLA[name] == module] or [module]
        assert one.message.startswith(tuple(names))


@given(st.sampled_from(["0.4.30", "0.4.31", "0.8.0"]), st.booleans())
def test_a_plugin_without_a_gpu(jaxlib: str, unknown: bool) -> None:
    """Before 0.4.31 it raises; what is unknown is no fault."""
    here = machine(count=0, jaxlib=jaxlib)
    found = {one.code for one in misfits(here._replace(gpus=None if unknown else ()))}
    assert found == ({"plugin-without-gpu"} if jaxlib == "0.4.30" and not unknown else set())
    assert set(misfits(here, for_cpu=True)) == set()


@given(st.sampled_from(["12.2", "12.8", "13.0", "13.1"]), st.sampled_from([None, "570.1"]))
def test_a_driver_serves_its_cuda_and_older_ones(serves: str, driver: str | None) -> None:
    found = {one.code: one for one in misfits(machine(cuda_driver=serves, driver=driver))}
    assert ("driver-too-old" in found) is (serves < "13")
    if found:
        one = found["driver-too-old"]
        assert one.message.startswith(f"The driver {driver} serves" if driver else "The driver serves")
        assert one.severity == "error" and "jax[cuda12]==0.11.2" in one.hint


@given(st.booleans(), st.booleans(), st.sampled_from(["0.11.2", "0.11.1"]))
def test_both_halves_of_a_plugin_are_of_jaxlibs_release(plugin: bool, pjrt: bool, version: str) -> None:
    halves = {"jax-cuda13-plugin": version} if plugin else {}
    halves |= {"jax-cuda13-pjrt": version} if pjrt else {}
    found = {one.code for one in misfits(machine(plugins=halves))}
    assert ("no-cuda-plugin" in found) is (not halves)
    assert ("half-a-plugin" in found) is (plugin != pjrt)
    assert ("plugin-unused" in found) is (plugin and not pjrt and version != "0.11.2")  # else: the skew of both


@given(st.sampled_from([None, "", "0.11.2"]), st.sampled_from([None, "0.11.1", "0.11.2", "0.11.3", "0.7.0"]))
def test_jax_is_imported_with_the_jaxlib_that_it_allows(jax: str | None, jaxlib: str | None) -> None:
    """Not with a newer one, nor with one that is older than it says; jax 0.11.2 asks for 0.11.1."""
    least = known.least_jaxlib("0.11.2")
    found = list(misfits(machine(count=0)._replace(jax=jax, jaxlib=jaxlib, plugins={})))
    both = jax and jaxlib
    new = bool(both) and jaxlib == "0.11.3"
    old = bool(both) and least is not None and version_key(str(jaxlib)) < version_key(least)
    assert [one.code for one in found] == ["jaxlib-too-new"] * new + ["jaxlib-too-old"] * old
    assert {one.severity for one in found} <= {"error"}


@given(st.booleans(), st.booleans())
def test_amds_plugins_are_a_note(there: bool, for_cpu: bool) -> None:
    plugins = {"jax-rocm7-plugin": "0.11.2", "jax-rocm7-pjrt": "0.11.2"} if there else {}
    found = list(misfits(machine(count=0, plugins=plugins), for_cpu=for_cpu))
    assert [(one.code, one.severity) for one in found] == [("rocm", "note")] * there
    assert all(one.message.startswith("jax-rocm7-pjrt 0.11.2 is installed") for one in found)
