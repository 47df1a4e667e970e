"""The binary form (``.pb``) of a profile: protocol-buffer bytes, read and written without a protobuf library."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from ..proof.wire import varint
from .cost_profile import Cost, CostProfile, Latency

__all__ = ["parse_binary", "print_binary"]

COSTS, LATENCIES = 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


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
    at = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            value: Any
            if tag & 7 == _VARINT:
                value, at = varint(data, at)
            elif tag & 7 == _FIXED64:
                value, at = struct.unpack_from("<d", data, at)[0], at + 8
            elif tag & 7 == _FIXED32:
                value, at = struct.unpack_from("<f", data, at)[0], at + 4
            elif tag & 7 == _BYTES:
                size, at = varint(data, at)
                value, at = data[at : at + size], at + size
                if size:
                    data[at - 1]  # there, or IndexError
            else:
                raise ValueError(f"byte {offset + at}: no field of a message")
            yield tag >> 3, value, offset + at
    except (IndexError, struct.error):
        raise ValueError(f"byte {offset + len(data)}: the bytes break off") from None


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
