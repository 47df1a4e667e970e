"""Protocol-buffer bytes, read without a protobuf library: the descriptor in a binary, and the messages it describes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping

from ..values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap
    from typing import Any, TypeAlias

    Raw: TypeAlias = int | bytes


__all__ = [
    "Field",
    "Message",
    "Schema",
    "decode",
    "entries",
    "pairs",
    "schema_of",
    "varint",
    "zeros",
]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FILE = re.compile(rb"\n[\x07-\x7f](?=[a-z][\w./+-]*\.proto)")
"""How the descriptor of a file begins: its first field is its name, with the length before it."""
_DOUBLE, _FLOAT, _BOOL, _STRING, _MESSAGE, _BYTES_TYPE, _ENUM = 1, 2, 8, 9, 11, 12, 14


def varint(data: bytes | mmap, at: int) -> tuple[int, int]:
    """The number at ``at`` and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def entries(data: bytes | mmap, at: int = 0) -> Iterator[tuple[int, int, Raw, int]]:
    """(field number, wire type, value, end) one after another, until the bytes end or make no sense."""
    while at < len(data) and data[at]:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value: Raw
            value, at = varint(data, at)
        elif kind == _BYTES:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
            value, at = data[at : at + size], at + size
        else:
            return
        yield tag >> 3, kind, value, at


def pairs(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, value), in the order of the bytes."""
    return ((number, value) for number, _, value, _ in entries(data))


class Message:
    """A message by its field numbers: each answer is for the last value of a field, and zero or empty where there is none."""

    def __init__(self, data: bytes) -> None:
        self._values: dict[int, list[Any]] = {}
        for number, value in pairs(data):
            self._values.setdefault(number, []).append(value)

    def number(self, field: int) -> int:
        """A whole number."""
        found = self.all(field)[-1:]
        return found[0] if found and isinstance(found[0], int) else 0

    def raw(self, field: int) -> bytes:
        """Bytes as they are."""
        found = self.all(field)[-1:]
        return bytes(found[0]) if found and isinstance(found[0], bytes) else b""

    def text(self, field: int) -> str:
        """A text; bytes that are none are replaced."""
        return self.raw(field).decode(errors="replace")

    def message(self, field: int) -> Message:
        """A message within this one."""
        return Message(self.raw(field))

    def messages(self, field: int) -> list[Message]:
        """Each of the messages in a repeated field."""
        return [Message(value) for value in self.all(field) if isinstance(value, bytes)]

    def numbers(self, field: int) -> tuple[int, ...]:
        """Each of the numbers in a repeated field, packed or one by one."""
        several = (_unpacked(value) if isinstance(value, bytes) else (value,) for value in self.all(field))
        return tuple(number for some in several for number in some)

    def all(self, field: int) -> list[Any]:
        """Each value as it is, in the order of the bytes."""
        return self._values.get(field, [])


def _unpacked(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        yield number


class Field(Value):
    """One field of a message: ``kind`` is the descriptor's type number, ``of`` the full name of its enum or message."""

    name: str
    number: int
    repeated: bool
    kind: int
    of: str

    @property
    def is_enum(self) -> bool:
        return self.kind == _ENUM

    @property
    def is_message(self) -> bool:
        return self.kind == _MESSAGE

    @property
    def is_string(self) -> bool:
        return self.kind in (_STRING, _BYTES_TYPE)


class Schema:
    """Messages and enums by full name (``.xla.DebugOptions``); ``maps`` are the entry types of map fields."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[int, Field]] = {}
        self.enums: dict[str, dict[int, str]] = {}
        self.maps: set[str] = set()


def schema_of(binary: bytes | mmap, root: str, levels: int = 99) -> Schema:
    """What the file ``root`` and all it imports, at most so many levels deep, declare: from the descriptors in ``binary``."""
    schema, places = Schema(), _places(binary)
    todo, seen = [(root, 0)], set()
    while todo:
        name, level = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for found in _file_descriptors(binary, places.get(name.encode(), ())):
            _add_file(schema, found)
            todo += [(d.decode(), level + 1) for d in Message(found).all(3) if level < levels]
    return schema


def _places(binary: bytes | mmap) -> dict[bytes, list[int]]:
    """Where what may be a file's descriptor begins, by the file's name: one pass, as a jaxlib has 300 MB."""
    places: dict[bytes, list[int]] = {}
    for match in _FILE.finditer(binary):
        name = match.end()
        places.setdefault(binary[name : name + binary[name - 1]], []).append(match.start())
    return places


def _file_descriptors(binary: bytes | mmap, starts: Iterable[int]) -> Iterator[bytes]:
    for start in starts:
        end = _end_of_file(binary, start)
        if end > start + 2 + binary[start + 1]:
            yield binary[start:end]


def _end_of_file(binary: bytes | mmap, start: int) -> int:
    """Where the file's descriptor ends: at the first field that is none of its own, or a second name."""
    end = start
    for number, _, _, at in entries(binary, start):
        if number > 14 or (number == 1 and end != start):
            break
        end = at
    return end


def _add_file(schema: Schema, data: bytes) -> None:
    file = Message(data)
    scope = f".{file.text(2)}" if file.text(2) else ""
    for message in file.messages(4):
        _add_message(schema, message, scope)
    for enum in file.messages(5):
        _add_enum(schema, enum, scope)


def _add_message(schema: Schema, declared: Message, scope: str) -> None:
    name = f"{scope}.{declared.text(1)}"
    schema.messages[name] = {f.number: f for f in map(_field, declared.messages(2))}
    if any(options.number(7) for options in declared.messages(7)):
        schema.maps.add(name)
    for message in declared.messages(3):
        _add_message(schema, message, name)
    for enum in declared.messages(4):
        _add_enum(schema, enum, name)


def _add_enum(schema: Schema, declared: Message, scope: str) -> None:
    values = {value.number(2): value.text(1) for value in reversed(declared.messages(2))}
    schema.enums[f"{scope}.{declared.text(1)}"] = values


def _field(declared: Message) -> Field:
    repeated = declared.number(4) == 3
    return Field(declared.text(1), declared.number(3), repeated, declared.number(5), declared.text(6))


def decode(schema: Schema, message: str, data: bytes) -> dict[str, Any]:
    """The message as plain values: enums by name, maps and sub-messages as dicts, repeated fields as lists."""
    known = schema.messages.get(message, {})
    out: dict[str, Any] = {}
    for number, kind, value, _ in entries(data):
        spec = known.get(number)
        if spec is None:
            out[f"#{number}"] = repr(value)
        elif spec.of in schema.maps:
            out.setdefault(spec.name, {}).update(_pair(schema, spec, value))
        elif spec.repeated:
            out.setdefault(spec.name, []).extend(_values(schema, spec, kind, value))
        else:
            out[spec.name] = _plain(schema, spec, value)
    return out


def zeros(schema: Schema, message: str) -> dict[str, Any]:
    """What each field of a message is while no one has set it."""
    return {spec.name: _zero(schema, spec) for spec in schema.messages[message].values()}


def _zero(schema: Schema, spec: Field) -> Any:
    if spec.of in schema.maps:
        return {}
    if spec.repeated:
        return []
    if spec.is_enum:
        return schema.enums.get(spec.of, {}).get(0, 0)
    if spec.is_string:
        return ""
    return False if spec.kind == _BOOL else 0.0 if spec.kind in (_FLOAT, _DOUBLE) else 0


def _pair(schema: Schema, spec: Field, value: Raw) -> Mapping[str, Any]:
    assert isinstance(value, bytes)
    pair = decode(schema, spec.of, value)
    return {str(pair.get("key", "")): pair.get("value", "")}


def _values(schema: Schema, spec: Field, kind: int, value: Raw) -> list[Any]:
    if kind == _BYTES and not (spec.is_string or spec.is_message):
        return [_plain(schema, spec, number) for number in _packed(spec, value)]
    return [_plain(schema, spec, value)]


def _packed(spec: Field, value: Raw) -> Iterable[Raw]:
    assert isinstance(value, bytes)
    width = {_FLOAT: 4, _DOUBLE: 8}.get(spec.kind)
    return [value[at : at + width] for at in range(0, len(value), width)] if width else _unpacked(value)


def _plain(schema: Schema, spec: Field, value: Raw) -> Any:
    if isinstance(value, bytes):
        if spec.is_message:
            return decode(schema, spec.of, value)
        if spec.kind in (_FLOAT, _DOUBLE):
            return struct.unpack("<f" if spec.kind == _FLOAT else "<d", value)[0]
        return value.decode("utf-8", "surrogateescape")
    if spec.is_enum:
        return schema.enums.get(spec.of, {}).get(value, value)
    if spec.kind == _BOOL:
        return bool(value)
    return value - 2**64 if value >= 2**63 else value
