"""Which devices CUDA_VISIBLE_DEVICES leaves to a process, as the CUDA driver reads it.

Facts: CUDA C Programming Guide, "CUDA environment variables". Devices after the first entry that is no device are
invisible; a device named twice makes all invisible; of MIG slices a process uses one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Device", "visible"]


class Device(NamedTuple):
    """A GPU, or with ``parent`` a MIG slice of one, as the variable may name it. ``legacy``: ``MIG-GPU-uuid/gi/ci``."""

    uuid: str
    parent: str = ""
    legacy: str = ""


def visible(gpus: Sequence[Device], slices: Sequence[Device], value: str | None) -> tuple[Device, ...]:
    """The devices in CUDA's order: ``gpus`` in enumeration order, ``slices`` those of GPUs in MIG mode."""
    if value is None:
        return _whole(gpus, slices)
    chosen = tuple(_until_invalid(gpus, slices, value))
    if len(set(chosen)) < len(chosen):
        return ()
    first_slice = next((device for device in chosen if device.parent), None)
    return (first_slice,) if first_slice else chosen


def _whole(gpus: Sequence[Device], slices: Sequence[Device]) -> tuple[Device, ...]:
    """Without the variable: GPUs that are not cut up; where there is none, the first slice."""
    cut = {device.parent for device in slices}
    whole = tuple(gpu for gpu in gpus if gpu.uuid not in cut)
    return whole or tuple(slices[:1])


def _until_invalid(gpus: Sequence[Device], slices: Sequence[Device], value: str) -> Iterator[Device]:
    for entry in value.split(","):
        found = _one(entry.strip(), gpus, slices)
        if found is None:
            return
        yield found


def _one(entry: str, gpus: Sequence[Device], slices: Sequence[Device]) -> Device | None:
    if entry.startswith("MIG-"):
        return _by_prefix(entry, slices)
    if entry.startswith("GPU-"):
        return _of_slice(_by_prefix(entry, gpus), slices)
    number = _leading_number(entry)
    return _of_slice(gpus[number], slices) if number is not None and number < len(gpus) else None


def _by_prefix(entry: str, devices: Sequence[Device]) -> Device | None:
    found = [device for device in devices if device.uuid.startswith(entry) or (device.legacy and device.legacy == entry)]
    return found[0] if len(found) == 1 else None


def _of_slice(gpu: Device | None, slices: Sequence[Device]) -> Device | None:
    """A GPU in MIG mode stands for its first slice."""
    own = [device for device in slices if gpu is not None and device.parent == gpu.uuid]
    return own[0] if own else gpu


def _leading_number(entry: str) -> int | None:
    """CUDA reads a number with C's strtol, so what follows the digits does not count."""
    digits = entry[: len(entry) - len(entry.lstrip("0123456789"))]
    return int(digits) if digits else None
