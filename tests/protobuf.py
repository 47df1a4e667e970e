"""Protocol-buffer bytes as they are written (https://protobuf.dev/programming-guides/encoding/), for tests of what reads them."""

from __future__ import annotations

import struct


def number(value: int) -> bytes:
    """Seven bits a byte, lowest first."""
    value &= 2**64 - 1
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def field(tag: int, value: bytes | str | float) -> bytes:
    """One field: a number, what has a length, or a double."""
    if isinstance(value, float):
        return number(tag << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data
