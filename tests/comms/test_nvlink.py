"""Two GPUs by UUID: whether NVML says that NVLink joins them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from jaxgpu_tune.comms.nvlink import NvmlError, joined_by_nvlink

OPEN: list[str] = []


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """NVML for GPUs "a" and "b", whose status is ``status``."""
    found = SimpleNamespace(status=pynvml.NVML_P2P_STATUS_OK, asked=[])

    def status(one: str, other: str, caps: int) -> int:
        found.asked.append((one, other, caps))
        return int(found.status)

    def handle(uuid: str) -> str:
        if uuid not in ("a", "b"):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return f"handle of {uuid}"

    answers: dict[str, Any] = {
        "nvmlInit": lambda: OPEN.append("open"),
        "nvmlShutdown": lambda: OPEN.remove("open"),
        "nvmlDeviceGetHandleByUUID": handle,
        "nvmlDeviceGetP2PStatus": status,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    return found


def test_it_is_asked_of_nvlink_and_closed_again(nvml: SimpleNamespace) -> None:
    assert joined_by_nvlink("a", "b") is True
    assert nvml.asked == [("handle of a", "handle of b", pynvml.NVML_P2P_CAPS_INDEX_NVLINK)] and OPEN == []
    nvml.status = pynvml.NVML_P2P_STATUS_NOT_SUPPORTED
    assert joined_by_nvlink("a", "b") is False


def test_a_gpu_that_nvml_does_not_know_is_told_in_its_words(nvml: SimpleNamespace) -> None:
    """NVML is closed then, too."""
    with pytest.raises(NvmlError, match=r"^NVML: .*[Nn]ot [Ff]ound"):
        joined_by_nvlink("a", "c")
    assert OPEN == [] and nvml.asked == []


def test_a_machine_without_nvml_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    with pytest.raises(NvmlError, match="NVML: NVML Shared Library Not Found"):
        joined_by_nvlink("a", "b")
