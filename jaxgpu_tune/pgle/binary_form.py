"""The binary form (``.pb``) of a profile: protocol-buffer bytes, read and written without a protobuf library."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from ..proof.wire import entries
from .cost_profile import Cost, CostProfile, Latency

__all__ = ["parse_binary", "print_binary"]

COSTS, LATENCIES = 1, 2
_FIXED64, _BYTES, _FIXED32 = 1, 2, 5
FIXED = {_FIXED64: "<d", _FIXED32: "<f"}


def parse_binary(data: bytes) -> CostProfile:
    """Raises ValueError that says where the bytes are none of a profile."""
    costs: list[Cost] = []
    latencies: list[Latency] = []
    for number, value, at in _fields(data):
        if not isinstance(value, bytes) or number not in (COSTS, LATENCIES):
            raise ValueError(f"byte {at}: field {number}, which is none of a profile's")
        if number == COSTS:
            fields = _message(value, at, (bytes, float))
            costs.append(Cost.named(_text(fields.get(1, b""), at), fields.get(2, 0.0)))
        else:
            fields = _message(value, at, (bytes, bytes, float))
            source, target = _text(fields.get(1, b""), at), _text(fields.get(2, b""), at)
            latencies.append(Latency(source, target, fields.get(3, 0.0)))
    return CostProfile(tuple(costs), tuple(latencies))


def print_binary(profile: CostProfile) -> bytes:
    """The bytes that XLA reads from a ``.pb`` file and takes as ``fdo_profile``."""
    costs = (_field(COSTS, _string(1, cost.full_name) + _double(2, cost.us)) for cost in profile.costs)
    latencies = (
        _field(LATENCIES, _string(1, one.source) + _string(2, one.target) + _double(3, one.us))
        for one in profile.latencies
    )
    return b"".join((*costs, *latencies))


def _message(value: bytes, at: int, kinds: tuple[type, ...]) -> dict[int, Any]:
    """The fields of one entry; those that later releases may add are passed over."""
    found: dict[int, Any] = {}
    for number, field, _ in _fields(value, at - len(value)):
        if number <= len(kinds) and not isinstance(field, kinds[number - 1]):
            raise ValueError(f"byte {at}: field {number} of an entry is of another kind")
        found[number] = field
    return found


def _fields(data: bytes, offset: int = 0) -> Iterator[tuple[int, Any, int]]:
    """(field number, value, position after it in the file). Raises ValueError where the bytes break off."""
    end = 0
    try:
        for number, kind, value, end in entries(data):
            if end > len(data):
                break
            plain = struct.unpack(FIXED[kind], value)[0] if isinstance(value, bytes) and kind in FIXED else value
            yield number, plain, offset + end
    except IndexError:
        end = len(data) + 1
    if end != len(data):
        why = "no field of a message" if end < len(data) else "the bytes break off"
        raise ValueError(f"byte {offset + min(end, len(data))}: {why}")


def _text(value: object, at: int) -> str:
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError(f"byte {at}: a name that is no text") from None


def _field(number: int, payload: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(payload)) + payload


def _string(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _double(number: int, value: float) -> bytes:
    return _number(number << 3 | _FIXED64) + struct.pack("<d", value)


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
