"""Which devices CUDA_VISIBLE_DEVICES leaves to a process, as the CUDA driver reads it.

Read off a driver, one fresh process a text (``tests/host/measured.py``): the first member decides whether the list is
of numbers, of ``GPU-…`` or of ``MIG-…``, and ends at the first that is no such device; a device named twice makes all
invisible. Of MIG slices a process uses one, and no whole GPU beside it (NVIDIA's MIG user guide; not measured).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..values import Value

__all__ = ["Device", "visible"]

NUMBER = r"[ \t\n\v\f\r]*([+-]?[0-9]{1,18})(?![0-9])"
HEX = r"[0-9A-Fa-f-]{0,36}"
KINDS = ("GPU-", "MIG-")


class Device(Value):
    """A GPU, or with ``parent`` a MIG slice of one, as the variable may name it.

    ``legacy``: a slice's older name, ``MIG-GPU-uuid/gi/ci``. ``cut``: a GPU in MIG mode, of which only slices compute.
    """

    uuid: str
    parent: str = ""
    legacy: str = ""
    cut: bool = False


def visible(gpus: Sequence[Device], slices: Sequence[Device], value: str | None) -> tuple[Device, ...]:
    """The devices in CUDA's order: ``gpus`` in enumeration order, ``slices`` those of GPUs in MIG mode."""
    chosen = tuple(gpus) if value is None else tuple(_until_invalid(gpus, slices, value))
    if len(set(chosen)) < len(chosen):
        return ()
    usable = [device for device in (_usable(device, slices) for device in chosen) if device]
    first_slice = next((device for device in usable if device.parent), None)
    return (first_slice,) if first_slice else tuple(usable)


def _until_invalid(gpus: Sequence[Device], slices: Sequence[Device], value: str) -> Iterator[Device]:
    kind = value[:4] if value.startswith(KINDS) else ""
    for entry in value.split(","):
        found = _by_name(entry, kind, gpus, slices) if kind else _by_number(entry, gpus)
        if found is None:
            return
        yield found


def _by_number(entry: str, gpus: Sequence[Device]) -> Device | None:
    """C's strtol, cut to 32 bits: blanks and a sign may lead, and what follows the digits does not count."""
    digits = re.match(NUMBER, entry)
    number = int(digits[1]) & 0xFFFFFFFF if digits else len(gpus)
    return gpus[number] if number < len(gpus) else None


def _by_name(entry: str, kind: str, gpus: Sequence[Device], slices: Sequence[Device]) -> Device | None:
    """The one device whose UUID begins like ``entry``, up to its first character that is not hexadecimal.

    "MIG-" stands before the UUID of a whole GPU, too (measured).
    """
    if not entry.startswith(kind):
        return None
    for device in slices:
        if device.legacy and device.legacy.lower() == entry.strip().lower():
            return device
    digits = re.compile(HEX).match(entry, 4)
    prefix = digits[0].lower() if digits else ""
    devices = gpus if kind == "GPU-" else [*slices, *(gpu for gpu in gpus if not gpu.cut)]
    found = [device for device in devices if prefix and device.uuid[4:].lower().startswith(prefix)]
    return found[0] if len(found) == 1 else None


def _usable(device: Device, slices: Sequence[Device]) -> Device | None:
    """A GPU in MIG mode stands for its first slice; without one it is no device."""
    own = [piece for piece in slices if piece.parent == device.uuid]
    return own[0] if own else None if device.cut else device
