"""TensorFlow's two variables of GPU memory: what XLA reads of them, and where that fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune import BadSetting, Machine, plan
from tests.fleet import machine

MACHINES = Path(__file__).resolve().parents[2] / "machines"
UNIFIED, GROWTH = "TF_FORCE_UNIFIED_MEMORY", "TF_FORCE_GPU_ALLOW_GROWTH"
OLD, NEW = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"


def of_file(name: str) -> Machine:
    """A machine of tests/machines."""
    return Machine.from_dict(json.loads((MACHINES / f"{name}.json").read_text()))


def of_capability(capability: str) -> Machine:
    """One GPU of which little is known."""
    return Machine.from_dict({"gpus": [{"compute_capability": capability}], "jaxlib": "0.4.30", "jax": "0.4.30"})


def told(here: Machine, environ: dict[str, str]) -> dict[str, str]:
    """Code -> severity."""
    return {f.code: f.severity for f in plan("auto", machine=here, environ=environ, probe=False).findings}


CANNOT = [of_file("wsl_rtx3060"), of_file("k20"), of_capability("5.2")]
CAN = [of_capability("6.0"), of_capability("7.0"), machine(jaxlib="0.4.30"), Machine.from_dict({"jaxlib": "0.4.30"})]


@pytest.mark.parametrize("fraction", [OLD, NEW])
@pytest.mark.parametrize("here", CANNOT)
def test_more_than_the_gpu_has_is_told_where_it_cannot_be_paged(here: Machine, fraction: str) -> None:
    """As AlphaFold and ColabFold set it for everybody."""
    assert told(here, {UNIFIED: "1", fraction: "4.0"})["no-memory-beyond"] == "warning"
    assert "no-memory-beyond" not in told(here, {UNIFIED: "1", fraction: "0.9"})
    assert "no-memory-beyond" not in told(here, {UNIFIED: "0", fraction: "4.0"})


@pytest.mark.parametrize("here", CAN)
def test_elsewhere_it_is_fine(here: Machine) -> None:
    assert "no-memory-beyond" not in told(here, {UNIFIED: "1", OLD: "4.0"})


ASKED: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({}, {"env": {UNIFIED: "1"}, "memory_fraction": 3.2}),
    ({UNIFIED: "true"}, {"memory_fraction": 3.2}),
    ({OLD: "3.2"}, {"env": {UNIFIED: "1"}}),
    ({UNIFIED: "1"}, {"env": {NEW: "3.2"}}),
]


@pytest.mark.parametrize(("environ", "asked"), ASKED)
def test_as_an_argument_it_is_refused_there_and_taken_elsewhere(environ: dict[str, str], asked: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match="more memory than the GPU has") as raised:
        plan("auto", machine=CANNOT[0], environ=environ, **asked)
    assert {(one.code, one.severity) for one in raised.value.findings} == {("bad-variable", "error")}
    plan("auto", machine=CAN[1], environ=environ, **asked)


def test_an_argument_that_bounds_what_is_inherited_is_no_fault() -> None:
    report = plan("auto", machine=CANNOT[0], environ={UNIFIED: "1", OLD: "4.0"}, memory_fraction=0.8)
    assert "no-memory-beyond" not in {f.code for f in report.findings}


@pytest.mark.parametrize(
    ("environ", "libraries", "found"),
    [
        ({GROWTH: "true"}, {}, True),
        ({GROWTH: "1"}, None, True),
        ({GROWTH: "true"}, {"tensorflow": "2.16.1"}, False),
        ({GROWTH: "false"}, {}, False),
        ({GROWTH: "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}, {}, False),
    ],
)
def test_growth_is_tensorflows_alone(environ: dict[str, str], libraries: Any, found: bool) -> None:
    here = machine(count=1, libraries=libraries)
    report = plan("auto", machine=here, environ=environ, probe=False)
    told_of = [f for f in report.findings if f.code == "growth-for-tensorflow-only"]
    assert [f.severity for f in told_of] == ["warning"] * found
    assert all("XLA_PYTHON_CLIENT_PREALLOCATE=false" in f.hint for f in told_of)


@pytest.mark.parametrize(("jaxlib", "pool"), [("0.9.2", False), ("0.10.0", True), ("0.10.2", True), ("0.11.0", False)])
def test_platform_is_a_pool_in_0_10_whoever_asks_for_it(jaxlib: str, pool: bool) -> None:
    here, name = machine(count=1, jaxlib=jaxlib), "XLA_PYTHON_CLIENT_ALLOCATOR"
    inherited = plan("auto", machine=here, environ={name: "platform"}, probe=False)
    asked = plan("auto", machine=here, environ={}, allocator="platform", probe=False)
    for report in (inherited, asked):
        found = {f.code: f for f in report.findings}
        assert ("memory-settings-idle" in found) is pool
        assert ("platform-allocator" in found) is not pool
        assert not pool or found["memory-settings-idle"].severity == "warning"
