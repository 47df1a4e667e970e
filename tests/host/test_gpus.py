"""Whether there are GPUs to ask NVML about, and what is there without its library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxgpu_tune.host import gpus as module
from jaxgpu_tune.host.gpus import NvmlAnswer, find_gpus
from tests.child import told

if TYPE_CHECKING:
    import pytest


def test_r51_each_kind_of_device_node_counts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """WSL has /dev/dxg alone; without any node NVML is not touched and there is no GPU."""
    assert "/dev/dxg" in module.NODES
    monkeypatch.setattr(module, "NODES", (str(tmp_path / "none"),))
    assert find_gpus({}) == NvmlAnswer(())
    (tmp_path / "dxg").touch()
    monkeypatch.setattr(module, "NODES", (str(tmp_path / "dxg"),))
    assert module.has_device_node()


def test_a_device_node_but_no_driver_library(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real nvidia-ml-py where its library is not there or cannot be loaded, and where it is not installed itself."""
    (tmp_path / "nvidiactl").touch()
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    for broken in (
        f"import ctypes; load = ctypes.CDLL; ctypes.CDLL = lambda name, *a, **k: load({str(tmp_path)!r} + '/' + name)",
        "sys.modules['pynvml'] = None",
        "import types; sys.modules['pynvml'] = types.ModuleType('pynvml')",
    ):
        code = f"import sys\n{broken}\nfrom jaxgpu_tune.host import gpus\ngpus.NODES = ({str(tmp_path / 'nvidiactl')!r},)\n"
        assert told(code + "found = gpus.find_gpus({}); tell([found.gpus, found.driver])") == [None, None]
