"""What serialised DebugOptions mean, apart from how they are written."""

from __future__ import annotations

from jaxgpu_tune.proof import wire

EMPTY = (0, b"", bytes(4), bytes(8))


def meaning(effect: bytes) -> list[object]:
    """The options less the fields that are stated but zero or empty, and the bits of not-a-number."""
    fields = [(number, value) for number, _, value, _ in wire.entries(effect) if value not in EMPTY]
    return [(number, "nan" if is_nan(value) else value) for number, value in fields]


def is_nan(value: int | bytes) -> bool:
    return isinstance(value, bytes) and len(value) == 4 and value[2:] in (b"\xc0\x7f", b"\xc0\xff")
