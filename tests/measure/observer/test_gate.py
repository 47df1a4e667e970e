"""A program that is held where its first device would start, until it is told to go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from jax._src import xla_bridge

from jaxgpu_tune.measure.observer import gate

begun: list[str] = []


@pytest.fixture(autouse=True)
def backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where jax starts a backend, with a backend that only says so."""
    begun.clear()
    monkeypatch.setattr(xla_bridge, "_init_backend", lambda platform: begun.append(platform) or platform)
    monkeypatch.setattr(gate, "LOOK", 0.001)


def test_it_waits_until_it_is_told_to_go_and_only_once(tmp_path: Path) -> None:
    """The file that says so names the process and is empty: no GPU is in use."""
    gate.hold(str(tmp_path), os.getpid())
    program = Thread(target=xla_bridge._init_backend, args=("cpu",))
    program.start()
    while not (held := list(tmp_path.glob(f"{gate.HELD}*"))):
        assert program.is_alive()
    assert held[0].name == f"{gate.HELD}{os.getpid()}" and begun == []
    (tmp_path / gate.GO).touch()
    program.join()
    assert begun == ["cpu"] and held[0].read_text() == ""
    (tmp_path / gate.GO).unlink()
    assert xla_bridge._init_backend("other") == "other" and begun == ["cpu", "other"]


def test_what_is_done_at_the_first_device_is_done_once_and_after_the_waiting(tmp_path: Path) -> None:
    (tmp_path / gate.GO).touch()
    gate.before_devices(lambda: begun.append("act"))
    gate.hold(str(tmp_path), os.getpid())
    assert [xla_bridge._init_backend(name) for name in ("cuda", "cpu")] == ["cuda", "cpu"]
    assert begun == ["act", "cuda", "cpu"]


def test_what_was_told_to_go_before_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / gate.GO).touch()
    gate.hold(str(tmp_path), os.getpid())
    assert xla_bridge._init_backend("cpu") == "cpu"
    assert [path.name for path in tmp_path.iterdir()] == [gate.GO]


def test_a_gpu_that_was_in_use_before_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another library of the program had it: holding is no use then."""
    monkeypatch.setattr(gate.os, "readlink", lambda _: "/dev/nvidia-uvm")
    monkeypatch.setattr(gate.os, "_exit", lambda code: (_ for _ in ()).throw(SystemExit(code)))
    with pytest.raises(SystemExit) as ended:
        gate._wait(str(tmp_path), gone())
    assert ended.value.code == gate.LOST == os.EX_TEMPFAIL
    assert (tmp_path / f"{gate.HELD}{os.getpid()}").read_text() == gate.CUDA


def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid


def test_a_parent_of_another_user_lives() -> None:
    assert gate._lives(os.getpid()) and gate._lives(1)
    assert not gate._lives(gone())
