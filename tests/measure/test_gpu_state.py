"""GPUs that are busy or slowed down, as NVML tells it; nothing where it tells nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jaxgpu_tune.host import gpus
from jaxgpu_tune.host.gpus import NvmlAnswer
from jaxgpu_tune.measure import gpu_state
from jaxgpu_tune.measure.gpu_state import GpuState
from jaxgpu_tune.model import Gpu


class Nvml(SimpleNamespace):
    """Answers for two GPUs: how busy each is and why its clock is low; an older one has another name for the latter."""

    def __init__(self, used: tuple[int, int], reasons: tuple[int, int], *, old: bool = False) -> None:
        super().__init__(
            reasons=reasons,
            nvmlInit=lambda: None,
            nvmlDeviceGetHandleByUUID=lambda uuid: int(uuid.decode()[-1]),
            nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=used[handle]),
        )
        name = "nvmlDeviceGetCurrentClocksThrottleReasons" if old else "nvmlDeviceGetCurrentClocksEventReasons"
        setattr(self, name, lambda handle: self.reasons[handle])


@pytest.fixture(autouse=True)
def _two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus.find_gpus is gpu_state.find_gpus
    monkeypatch.setattr(gpu_state, "find_gpus", lambda _: NvmlAnswer((Gpu(0, "GPU-0"), Gpu(1, "GPU-1"))))


def test_a_busy_gpu_is_told_before_anything_runs() -> None:
    """Which, and how much."""
    told = GpuState({}, Nvml((0, 57), (0, 0))).busy()
    assert [(finding.code, finding.severity) for finding in told] == [("gpu-busy", "warning")]
    assert "GPU 1 is busy with something else: 57 %" in told[0].message


@pytest.mark.parametrize("old", [False, True])
def test_a_throttled_gpu_is_told_whenever_it_was_seen(old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason that is over again counts; the power cap is no fault. It is looked only now and then."""
    nvml = Nvml((0, 0), (0x40, 0x04), old=old)
    state = GpuState({}, nvml)
    for reasons, every in (((0x40, 0x04), 0.0), ((0, 0), 0.0), ((0x80, 0x80), 3600.0)):
        nvml.reasons = reasons
        monkeypatch.setattr(gpu_state, "EVERY", every)
        state.look()
    assert ["too warm" in finding.message for finding in state.findings()] == [True]


def test_without_answers_nothing_is_seen() -> None:
    """No NVML, or one that fails."""
    for nvml in (object(), SimpleNamespace(nvmlInit=lambda: 1 / 0)):
        state = GpuState({}, nvml)
        state.look()
        assert state.busy() == state.findings() == ()


def test_a_run_waits_for_the_memory_of_the_one_before_it_but_not_for_ever() -> None:
    """It comes back; or somebody else has it for good, who is waited for once."""
    free = [8 << 30, 8 << 30]
    nvml = Nvml((0, 0), (0, 0))
    nvml.nvmlDeviceGetMemoryInfo = lambda handle: SimpleNamespace(free=free[handle])
    asked: list[int] = []
    state = GpuState({}, nvml)

    def comes_back(handle: int) -> SimpleNamespace:
        asked.append(handle)
        return SimpleNamespace(free=(2 if len(asked) < 6 else 8) << 30)

    nvml.nvmlDeviceGetMemoryInfo = comes_back
    state.wait_for_memory(60.0)
    assert 6 <= len(asked) <= 10
    nvml.nvmlDeviceGetMemoryInfo = lambda handle: asked.append(handle) or SimpleNamespace(free=1 << 30)
    state.wait_for_memory(0.2)
    asked.clear()
    state.wait_for_memory(60.0)
    assert len(asked) <= 4
    GpuState({}, Nvml((0, 0), (0, 0))).wait_for_memory(60.0)
