"""Two NVMLs to ask: one that answers for the GPUs it is given, and one whose every call fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

GIB = 2**30


class NVMLError(Exception):
    """What nvidia-ml-py raises."""


@dataclass
class Card:
    """A GPU or a slice. ``links``: the far end of each active NVLink, a Card or "switch"."""

    uuid: str
    name: str = "NVIDIA H100 80GB HBM3"
    capability: tuple[int, int] | None = (9, 0)
    memory: int | None = 80 * GIB
    cores: int = 16896
    bus: tuple[int, int, int] = (0, 0, 0)
    mig: bool = False
    slices: list[Card] = field(default_factory=list)
    instance: tuple[int, int] = (0, 0)
    links: list[Any] = field(default_factory=list)
    compute_mode: int | None = 0
    virtualization: int | None = 0
    display: int | None = 0

    @property
    def pci(self) -> SimpleNamespace:
        """As nvmlPciInfo_t."""
        domain, bus, device = self.bus
        return SimpleNamespace(
            domain=domain, bus=bus, device=device, busId=f"{domain:08X}:{bus:02X}:{device:02X}.0".encode()
        )


def known(value: Any) -> Any:
    """NVML raises where a GPU does not have a fact."""
    if value is None:
        raise NVMLError
    return value


class FakeNvml:
    """Answers as nvidia-ml-py does; ``calls`` are the names asked for."""

    NVML_NVLINK_DEVICE_TYPE_SWITCH = 2

    def __init__(self, *cards: Card) -> None:
        self.cards, self.calls = cards, []
        self.answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlSystemGetDriverVersion": lambda: "580.159.04",
            "nvmlSystemGetCudaDriverVersion_v2": lambda: 13000,
            "nvmlDeviceGetCount": lambda: len(cards),
            "nvmlDeviceGetHandleByIndex": lambda i: cards[i],
            "nvmlDeviceGetUUID": lambda c: c.uuid,
            "nvmlDeviceGetName": lambda c: c.name,
            "nvmlDeviceGetCudaComputeCapability": lambda c: known(c.capability),
            "nvmlDeviceGetMemoryInfo": lambda c: SimpleNamespace(total=known(c.memory), free=c.memory - GIB),
            "nvmlDeviceGetNumGpuCores": lambda c: c.cores,
            "nvmlDeviceGetComputeMode": lambda c: known(c.compute_mode),
            "nvmlDeviceGetVirtualizationMode": lambda c: known(c.virtualization),
            "nvmlDeviceGetDisplayActive": lambda c: known(c.display),
            "nvmlDeviceGetMigMode": lambda c: [int(c.mig), int(c.mig)],
            "nvmlDeviceGetMaxMigDeviceCount": lambda _: 7,
            "nvmlDeviceGetMigDeviceHandleByIndex": lambda c, i: c.slices[i],
            "nvmlDeviceGetGpuInstanceId": lambda c: c.instance[0],
            "nvmlDeviceGetComputeInstanceId": lambda c: c.instance[1],
            "nvmlDeviceGetPciInfo": lambda c: c.pci,
            "nvmlDeviceGetNvLinkState": lambda c, n: int(c.links[n] is not None),
            "nvmlDeviceGetNvLinkRemoteDeviceType": lambda c, n: 2 if c.links[n] == "switch" else 0,
            "nvmlDeviceGetNvLinkRemotePciInfo": lambda c, n: c.links[n].pci,
        }

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return self.answers[name]


class BrokenNvml:
    """Every call fails; ``works``: but for these, which answer as ``good`` does."""

    def __init__(self, good: FakeNvml | None = None, works: tuple[str, ...] = ()) -> None:
        self.good, self.works = good, works

    def __getattr__(self, name: str) -> Any:
        if name in self.works:
            return getattr(self.good, name)

        def fail(*_: Any) -> Any:
            raise NVMLError(name)

        return fail
