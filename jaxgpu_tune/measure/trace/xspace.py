"""An ``xplane.pb`` (XSpace), read without JAX and without a protobuf library.

Field numbers: https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...proof.wire import Message, entries, pairs
from .events import Event

__all__ = ["Plane", "events_of", "numbered", "planes_of", "signed"]

PLANES = 1
NAME, LINES, EVENT_METADATA, STAT_METADATA, PLANE_STATS = 2, 3, 4, 5, 6
LINE_NAME, TIMESTAMP_NS, EVENTS = 2, 3, 4
EVENT_ID, OFFSET_PS, DURATION_PS, EVENT_STATS = 1, 2, 3, 4
STAT_ID, DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE = 1, 2, 3, 4, 5, 6, 7
KEY, VALUE, METADATA_NAME, METADATA_STATS = 1, 2, 2, 5


class Plane(NamedTuple):
    """A plane as it is stored: names by number, its own facts, and its lines still as bytes.

    ``metadata``: (name, stats) of each kind of event; stats of a kind hold what all its events share, such as a program's HLO.
    """

    name: str
    stats: Mapping[str, Any]
    metadata: Mapping[int, tuple[str, Mapping[str, Any]]]
    stat_names: Mapping[int, str]
    lines: tuple[bytes, ...]


def planes_of(space: bytes) -> list[Plane]:
    """Every plane of a serialized XSpace. Raises ValueError for what is none."""
    found, end = [], 0
    for number, _, value, end in entries(space):  # noqa: B007 - where reading ended
        if number == PLANES:
            found.append(_plane(value))  # type: ignore[arg-type]
    if not found or end != len(space):
        raise ValueError(f"only {end} of {len(space)} bytes are one")
    return found


def _plane(data: bytes) -> Plane:
    stored = Message(data)
    stat_names = {key: _name(value, METADATA_NAME) for key, value in _map(stored, STAT_METADATA)}
    metadata = {
        key: (_name(value, METADATA_NAME), _stats(value, METADATA_STATS, stat_names))
        for key, value in _map(stored, EVENT_METADATA)
    }
    stats = _stats(stored, PLANE_STATS, stat_names)
    return Plane(_name(stored, NAME), stats, metadata, stat_names, tuple(stored.all(LINES)))


def _map(message: Message, field: int) -> Iterator[tuple[int, Message]]:
    """(key, value) of a map's entries; a key of 0 is not written."""
    return ((signed(entry.number(KEY)), entry.message(VALUE)) for entry in message.messages(field))


def _name(message: Message, field: int) -> str:
    """Raises ValueError for bytes that are no text: they are no trace's."""
    return message.raw(field).decode()


def _stats(message: Message, field: int, names: Mapping[int, str]) -> dict[str, Any]:
    return dict(_stat(value, names) for value in message.all(field))


def _stat(message: Any, names: Mapping[int, str]) -> tuple[str, Any]:
    """(name, value) of one fact; a text that many events share is stored as the number of a name."""
    name, value = "", None
    for number, raw in pairs(message):
        if number == STAT_ID:
            name = names.get(signed(raw), "")
        elif number == DOUBLE:
            value = struct.unpack("<d", raw)[0]
        elif number == SIGNED:
            value = signed(raw)
        elif number == TEXT:
            value = raw.decode(errors="replace")
        elif number == REFERENCE:
            value = names.get(raw, "")
        elif number in (UNSIGNED, BYTES):
            value = raw
    return name, value


def events_of(plane: Plane) -> Iterator[Event]:
    """Every event of a plane, in the order of the file."""
    lines = [{number: value for number, value in pairs(line) if number != EVENTS} for line in plane.lines]
    names = numbered([line.get(LINE_NAME, b"").decode(errors="replace") for line in lines])
    for name, line, data in zip(names, lines, plane.lines, strict=True):
        zero = signed(line.get(TIMESTAMP_NS, 0))
        for number, value in pairs(data):
            if number == EVENTS:
                yield _event(plane, name, zero, value)


def _event(plane: Plane, line: str, zero: int, data: Any) -> Event:
    kind = offset = duration = 0
    stats = {}
    for number, value in pairs(data):
        if number == EVENT_ID:
            kind = signed(value)
        elif number == OFFSET_PS:
            offset = signed(value)
        elif number == DURATION_PS:
            duration = signed(value)
        elif number == EVENT_STATS:
            key, found = _stat(value, plane.stat_names)
            stats[key] = found
    name = plane.metadata.get(kind, ("", {}))[0]
    return Event(plane.name, line, name, zero + offset / 1000, duration / 1000, stats)


def numbered(names: list[str]) -> list[str]:
    """The names, a second "x" as "x (2)" and so on."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def signed(number: Any) -> int:
    """A varint as the signed 64-bit number that it stands for."""
    return int(number) - (1 << 64) if number >= 1 << 63 else int(number)
