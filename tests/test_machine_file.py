"""Machines from JSON: whatever is a Machine comes back equal, and whatever is not is refused in one sentence each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import BadSetting, Finding, Gpu, Machine, plan
from jaxgpu_tune.host.detect import MACHINE_FILE, detect_machine
from jaxgpu_tune.model import Processes

COUNT = st.none() | st.integers(0, 2**53)
TEXT = st.none() | st.text(max_size=8)
VERSION = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){1,3}(rc1|\.dev20250514\+abc|\+cuda12\.cudnn89)?", fullmatch=True)
GPU = st.builds(
    Gpu,
    index=st.integers(0, 64),
    uuid=TEXT,
    name=TEXT,
    compute_capability=st.none() | st.sampled_from(["6.1", "9.0", "12.1"]),
    memory_bytes=COUNT,
    free_bytes=COUNT,
    mig=st.none() | st.booleans(),
    nvlink_peers=st.none() | st.lists(st.integers(0, 64), max_size=3).map(tuple),
)
MACHINE = st.builds(
    Machine,
    gpus=st.none() | st.lists(GPU, max_size=3).map(tuple),
    driver=TEXT,
    cuda_driver=TEXT,
    nccl=TEXT,
    jax=st.none() | VERSION,
    jaxlib=st.none() | VERSION,
    plugins=st.none() | st.dictionaries(st.text(max_size=8), VERSION, max_size=2),
    phase=st.sampled_from([None, "not-imported", "imported", "started"]),
    processes=st.builds(Processes, rank=COUNT, local_rank=COUNT, count=COUNT, local_count=COUNT, launcher=TEXT),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*Machine._fields, *Gpu._fields, *Processes._fields, "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(MACHINE)
def test_every_machine_comes_back_equal(machine: Machine) -> None:
    """Through JSON text."""
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine


@given(JSON)
def test_anything_else_is_read_or_refused(data: Any) -> None:
    """No other exception; what is read is a Machine that comes back equal."""
    findings: tuple[Finding, ...] = ()
    machine = None
    try:
        machine = Machine.from_dict(data)
    except BadSetting as error:
        findings = error.findings
    assert {finding.code for finding in findings} == (set() if machine else {"bad-machine"})
    assert machine is None or Machine.from_dict(machine.to_dict()) == machine


def test_count_repeats_a_gpu_and_numbers_go_on() -> None:
    """Two kinds of GPU in two tables."""
    machine = Machine.from_dict({"gpus": [{"name": "a", "count": 2}, {"name": "b"}, {"name": "c", "count": 1}]})
    assert [(gpu.index, gpu.name) for gpu in machine.gpus or ()] == [(0, "a"), (1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(("key", "meant"), [("gpu", "gpus"), ("jax_lib", "jaxlib"), ("drivers", "driver")])
def test_a_near_miss_names_the_key(key: str, meant: str) -> None:
    """At the top; and in a GPU."""
    with pytest.raises(BadSetting, match=f"Did you mean '{meant}'"):
        Machine.from_dict({key: None})
    with pytest.raises(BadSetting, match=r"gpus\[0\]\.memory_byte: .*Did you mean 'memory_bytes'"):
        Machine.from_dict({"gpus": [{"memory_byte": 1}]})


@pytest.mark.parametrize("version", ["", "x", "newest", "v0.6.1", "9" * 5000, 0.6])
@pytest.mark.parametrize("key", ["jax", "jaxlib"])
def test_what_is_no_version_is_refused_before_it_is_compared(key: str, version: Any) -> None:
    """Planning would fail on it with an error of another kind."""
    with pytest.raises(BadSetting, match=f"machine: {key} = "):
        Machine.from_dict({key: version})


@pytest.mark.parametrize(
    "version", ["0.6.1.dev20250514+abc", "0.11.0rc0", "0.4.30+cuda12.cudnn89", "0.12", "1", "99.0"]
)
def test_every_version_that_is_read_can_be_planned_for(version: str) -> None:
    """However far from any known release."""
    assert plan("fsdp", machine=Machine.from_dict({"gpus": [{"count": 2}], "jax": version, "jaxlib": version}))


@pytest.mark.parametrize("capability", ["9", "9.", ".0", "9.0.0", "9.0a", "\u00b2.0", "\u0669.\u0660", "9.0\n", 9.0])
def test_what_is_no_compute_capability(capability: Any) -> None:
    """Other scripts' digits included: not all of them are numbers."""
    with pytest.raises(BadSetting, match="compute_capability"):
        Machine.from_dict({"gpus": [{"compute_capability": capability}]})


@pytest.mark.parametrize("text", ["[" * 200_000, "{}" * 2, '{"jaxlib": NaN}', "9" * 5000])
def test_a_file_that_cannot_be_parsed_is_refused(tmp_path: Path, text: str) -> None:
    """Nested without end, too."""
    path = tmp_path / "machine.json"
    path.write_text(text)
    with pytest.raises(BadSetting):
        detect_machine({MACHINE_FILE: str(path)})


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_is_no_file(tmp_path: Path, name: str) -> None:
    """A folder, and a name that no file can have."""
    with pytest.raises(BadSetting, match=MACHINE_FILE):
        detect_machine({MACHINE_FILE: f"{tmp_path}/{name}"})


def test_an_empty_variable_is_none() -> None:
    """As everywhere: empty is not set."""
    assert detect_machine({MACHINE_FILE: ""}).jaxlib is not None
