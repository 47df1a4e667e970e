"""A machine as a value: what is not known of it is None, and it tells itself as JSON and as a table."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune import BadSetting, Machine
from jaxgpu_tune.machine import Gpu, Processes


def test_nothing_is_known_by_itself() -> None:
    """Nor of a GPU but its number, nor of the processes."""
    assert Machine.from_dict({}) == Machine()
    for value, known in ((Machine(), {"processes"}), (Processes(), set()), (Gpu(0), {"index"})):
        assert {name for name in value._fields if getattr(value, name) is not None} == known


def test_it_comes_back_from_its_json() -> None:
    gpus = (Gpu(0, uuid="GPU-1", nvlink_peers=(1,), mig=False), Gpu(1, memory_bytes=2**40, nvlink_peers=(0,)))
    here = Machine(gpus, "580.1", jaxlib="0.11.2", plugins={"jax-cuda13-pjrt": "0.11.2"}, wsl=False, phase="started")
    here = here._replace(processes=Processes(1, 0, 2, 1, "slurm", (0,)))
    assert Machine.from_dict(json.loads(json.dumps(here.to_dict()))) == here


def test_what_is_no_machine_is_refused() -> None:
    with pytest.raises(BadSetting, match="gpuz"):
        Machine.from_dict({"gpuz": []})


def test_notebooks_show_a_table() -> None:
    shown = Machine((Gpu(0, name="NVIDIA H100"),))._repr_html_()
    assert "NVIDIA H100" in shown and "<table>" in shown
