"""The GPUs, asked of NVML through nvidia-ml-py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model import Gpu
from .nvml_answer import NvmlAnswer
from .visible import Device, visible

__all__ = ["ask", "asked", "nvml_library"]

NVLINKS = 18
SWITCH = "switch"
TWIN = "#"
"""Between the UUID that several GPUs give and the number that tells them apart here."""
MOST_BYTES = 1 << 50
COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
"""NVML's nvmlComputeMode_t; several processes on a GPU need the first."""
VGPU = 2
"""NVML's nvmlGpuVirtualizationMode_t inside a virtual machine with a vGPU; 1, a whole GPU passed through, is none."""
Bus = tuple[int, int, int]
_FAILED = object()
SECONDS, PARTS = 30.0, 30
"""How long the driver may take; the first call on a host of eight GPUs without persistence mode takes several.
It is waited for in so many parts: a host that stood still meanwhile (a suspended virtual machine) has used up one of them.
"""
MOST_GPUS, MOST_CAPABILITY = 1024, 1000
_hung: list[object] = []
"""The thread that waits for a driver that did not answer."""


def asked(nvml: Any, environ: Mapping[str, str]) -> NvmlAnswer:
    """What it answers, within a time, of the GPUs that CUDA_VISIBLE_DEVICES leaves to this process; no ``nvml``: nvidia-ml-py's.

    A driver that hangs is left to a thread of its own, which does not keep the process from ending, and is asked no more.
    """
    import threading

    if _hung:
        return NvmlAnswer(None)
    answers: list[NvmlAnswer] = []
    thread = threading.Thread(target=lambda: answers.append(_safely(nvml, environ)), daemon=True, name="nvml")
    thread.start()
    for _ in range(PARTS):
        if thread.is_alive():
            thread.join(SECONDS / PARTS)
    if not answers:
        _hung.append(thread)
    return answers[0] if answers else NvmlAnswer(None)


def _safely(nvml: Any, environ: Mapping[str, str]) -> NvmlAnswer:
    try:
        return _all(nvml, environ)
    except Exception:  # noqa: BLE001 - a driver may answer anything at all
        return NvmlAnswer(None)


def _all(nvml: Any, environ: Mapping[str, str]) -> NvmlAnswer:
    nvml = nvml or nvml_library()
    if ask(nvml, "nvmlInit", default=_FAILED) is _FAILED:
        return NvmlAnswer(None)
    try:
        return _found(nvml, environ)
    finally:
        ask(nvml, "nvmlShutdown")


def nvml_library() -> Any:
    """nvidia-ml-py; None, which answers nothing, if it is missing or broken, or is the deprecated package of that name."""
    try:
        import pynvml
    except Exception:  # noqa: BLE001 - what a broken or foreign package raises is not ours to list
        return None
    return pynvml


def _found(nvml: Any, environ: Mapping[str, str]) -> NvmlAnswer:
    count = _number(ask(nvml, "nvmlDeviceGetCount"), MOST_GPUS)
    handles = [ask(nvml, "nvmlDeviceGetHandleByIndex", i) for i in range(count or 0)]
    driver = _text(ask(nvml, "nvmlSystemGetDriverVersion"))
    cuda = _number(ask(nvml, "nvmlSystemGetCudaDriverVersion_v2"), MOST_CAPABILITY * 1000)
    version = None if not cuda else f"{cuda // 1000}.{cuda % 1000 // 10}"
    if count is None or None in handles:
        return NvmlAnswer(None, driver, version)
    return NvmlAnswer(tuple(_usable(nvml, _cuda_order(nvml, handles, environ), environ)), driver, version)


def _cuda_order(nvml: Any, handles: list[Any], environ: Mapping[str, str]) -> list[Any]:
    """NVML counts by PCI bus, CUDA by default from the fastest; equal GPUs stay in PCI order."""
    names = {ask(nvml, "nvmlDeviceGetName", handle) for handle in handles}
    if environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(names) == 1:
        return handles
    return sorted(handles, key=lambda handle: _speed(nvml, handle), reverse=True)


def _speed(nvml: Any, handle: Any) -> tuple[tuple[int, int], int, int]:
    """An estimate of CUDA's own, unpublished one: capability, then cores, then memory."""
    capability = ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle, default=(0, 0))
    cores = ask(nvml, "nvmlDeviceGetNumGpuCores", handle, default=0)
    memory = ask(nvml, "nvmlDeviceGetMemoryInfo", handle)
    return tuple(capability), cores, 0 if memory is None else memory.total


def _usable(nvml: Any, handles: list[Any], environ: Mapping[str, str]) -> Iterator[Gpu]:
    by_uuid: dict[str, Any] = {}
    for number, handle in enumerate(handles):
        uuid = _uuid(nvml, handle, number)
        by_uuid[f"{uuid}{TWIN}{number}" if uuid in by_uuid else uuid] = handle
    gpus = [Device(uuid, cut=_in_mig_mode(nvml, handle)) for uuid, handle in by_uuid.items()]
    pieces = [piece for uuid, handle in by_uuid.items() for piece in _slices(nvml, handle, uuid)]
    by_uuid |= {device.uuid: handle for device, handle in pieces}
    chosen = visible(gpus, [device for device, _ in pieces], environ.get("CUDA_VISIBLE_DEVICES"))
    own = {device.uuid: index for index, device in enumerate(chosen)}
    links = _links(nvml, {uuid: by_uuid[uuid] for uuid in own})
    for index, device in enumerate(chosen):
        gpu = _gpu(nvml, by_uuid[device.uuid], index, device.uuid, mig=bool(device.parent))
        if device.parent:
            gpu = gpu._replace(compute_capability=_capability(nvml, by_uuid[device.parent]), nvlink_peers=())
        else:
            peers = links[device.uuid]
            gpu = gpu._replace(nvlink_peers=None if peers is None else tuple(sorted(own[p] for p in peers if p in own)))
        yield gpu


def _in_mig_mode(nvml: Any, handle: Any) -> bool:
    return bool(ask(nvml, "nvmlDeviceGetMigMode", handle, default=(0,))[0])


def _slices(nvml: Any, handle: Any, uuid: str) -> Iterator[tuple[Device, Any]]:
    """The MIG slices of a GPU, each with its own handle."""
    if not _in_mig_mode(nvml, handle):
        return
    for number in range(ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle, default=0)):
        piece = ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
        name = None if piece is None else _text(ask(nvml, "nvmlDeviceGetUUID", piece))
        if name:
            gi = ask(nvml, "nvmlDeviceGetGpuInstanceId", piece)
            ci = ask(nvml, "nvmlDeviceGetComputeInstanceId", piece)
            yield Device(name, uuid, f"MIG-{uuid}/{gi}/{ci}"), piece


def _gpu(nvml: Any, handle: Any, index: int, uuid: str, mig: bool) -> Gpu:
    memory = ask(nvml, "nvmlDeviceGetMemoryInfo", handle)
    return Gpu(
        index=index,
        uuid=uuid.partition(TWIN)[0] if uuid.startswith(("GPU-", "MIG-")) else None,
        name=_text(ask(nvml, "nvmlDeviceGetName", handle)),
        compute_capability=_capability(nvml, handle),
        memory_bytes=None if memory is None else _number(memory.total, MOST_BYTES),
        free_bytes=None if memory is None else _number(memory.free, MOST_BYTES),
        mig=mig,
        vgpu=_is_vgpu(ask(nvml, "nvmlDeviceGetVirtualizationMode", handle)),
        display=_is_on(ask(nvml, "nvmlDeviceGetDisplayActive", handle)),
        compute_mode=COMPUTE_MODES.get(ask(nvml, "nvmlDeviceGetComputeMode", handle)),
    )


def _is_vgpu(mode: int | None) -> bool | None:
    return None if mode is None else mode == VGPU


def _is_on(state: int | None) -> bool | None:
    return None if state is None else bool(state)


def _capability(nvml: Any, handle: Any) -> str | None:
    found = ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle)
    parts = None if found is None else [_number(part, MOST_CAPABILITY) for part in found]
    return None if parts is None or None in parts else f"{parts[0]}.{parts[1]}"


def _uuid(nvml: Any, handle: Any, number: int) -> str:
    return _text(ask(nvml, "nvmlDeviceGetUUID", handle)) or f"unknown-{number}"


def _links(nvml: Any, handles: dict[str, Any]) -> dict[str, set[str] | None]:
    """The GPUs that each reaches by NVLink, directly or through a switch; None where it could not be learned."""
    buses = {_bus(ask(nvml, "nvmlDeviceGetPciInfo", h)): uuid for uuid, h in handles.items()}
    buses.pop(None, None)
    ends = {uuid: _remote_ends(nvml, handle) for uuid, handle in handles.items()}
    switched = {uuid for uuid, found in ends.items() if found and SWITCH in found}

    def peers(uuid: str) -> set[str] | None:
        found = ends[uuid]
        if found is None:
            return None
        direct = {uuid for bus, uuid in buses.items() if bus in found}
        return (direct | (switched if uuid in switched else set())) - {uuid}

    return {uuid: peers(uuid) for uuid in handles}


def _remote_ends(nvml: Any, handle: Any) -> set[str | Bus | None] | None:
    ends: set[str | Bus | None] = set()
    for link in range(NVLINKS):
        state = ask(nvml, "nvmlDeviceGetNvLinkState", handle, link, default=_FAILED)
        if state is _FAILED and link == 0:
            return set() if ask(nvml, "nvmlDeviceGetName", handle) else None
        if state in (_FAILED, 0):
            continue
        kind = ask(nvml, "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link)
        remote = ask(nvml, "nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
        ends.add(SWITCH if kind == getattr(nvml, "NVML_NVLINK_DEVICE_TYPE_SWITCH", 2) else _bus(remote))
    return ends


def _bus(info: Any) -> Bus | None:
    """With the domain: on some clouds each GPU is device 00:00.0 of a domain of its own."""
    return None if info is None else (info.domain, info.bus, info.device)


def _text(value: Any) -> str | None:
    """A text that can be shown; None for anything else."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return text if isinstance(text, str) and text.isprintable() else None


def _number(value: Any, most: int) -> int | None:
    """A whole number from 0 to ``most``; None for any other."""
    return value if isinstance(value, int) and 0 <= value <= most else None


def ask(nvml: Any, function: str, *arguments: Any, default: Any = None) -> Any:
    """NVML's answer; ``default`` where it has none: a driver may lack any function, and fail in any way."""
    try:
        return getattr(nvml, function)(*arguments)
    except Exception:  # noqa: BLE001 - nvidia-ml-py raises its own errors, and ctypes' for a function that is not there
        return default
