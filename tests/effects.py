"""What serialised DebugOptions mean, apart from how they are written."""

from __future__ import annotations

from jaxgpu_tune.proof import wire

EMPTY = (0, b"", bytes(4), bytes(8))


PACKED, PRINTABLE = 2, 32


def meaning(effect: bytes) -> list[object]:
    """The options less the fields that are stated but zero or empty, the bits of not-a-number, and the order of enumerators.

    Releases before 0.7 add an enumerator that is there already once more.
    """
    fields = [(number, kind, value) for number, kind, value, _ in wire.entries(effect) if value not in EMPTY]
    return [(number, "nan" if is_nan(value) else members(kind, value)) for number, kind, value in fields]


def members(kind: int, value: int | bytes) -> object:
    """A packed list of enumerators as a set; any other value as it is."""
    packed = kind == PACKED and isinstance(value, bytes) and max(value) < PRINTABLE
    return frozenset(value) if packed and isinstance(value, bytes) else value


def is_nan(value: int | bytes) -> bool:
    return isinstance(value, bytes) and len(value) == 4 and value[2:] in (b"\xc0\x7f", b"\xc0\xff")
