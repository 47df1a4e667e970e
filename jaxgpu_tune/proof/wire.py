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
    "Schema",
    "decode",
    "entries",
    "fields_by_number",
    "pairs",
    "schema_of",
    "sub_message",
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


def sub_message(data: bytes, number: int) -> bytes:
    """The message in field ``number`` of another; empty if it is not there."""
    found = _all(data, number)
    return bytes(found[-1]) if found else b""


def pairs(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, value), in the order of the bytes."""
    return ((number, value) for number, _, value, _ in entries(data))


def fields_by_number(data: bytes) -> dict[int, list[Any]]:
    """Field number -> its values, in the order of the bytes."""
    found: dict[int, list[Any]] = {}
    for number, value in pairs(data):
        found.setdefault(number, []).append(value)
    return found


def _all(data: bytes, number: int) -> list[Any]:
    return [value for n, _, value, _ in entries(data) if n == number]


def _text(data: bytes, number: int) -> str:
    found = _all(data, number)
    return found[-1].decode() if found else ""


def _number(data: bytes, number: int) -> int:
    found = _all(data, number)
    return int(found[-1]) if found else 0


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
            todo += [(d.decode(), level + 1) for d in _all(found, 3) if level < levels]
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
        if not (number <= 14) or (number == 1 and end != start):
            break
        end = at
    return end


def _add_file(schema: Schema, data: bytes) -> None:
    scope = "." + _text(data, 2) if _text(data, 2) else ""
    for message in _all(data, 4):
        _add_message(schema, message, scope)
    for enum in _all(data, 5):
        _add_enum(schema, enum, scope)


def _add_message(schema: Schema, data: bytes, scope: str) -> None:
    name = f"{scope}.{_text(data, 1)}"
    schema.messages[name] = {f.number: f for f in map(_field, _all(data, 2))}
    if any(_number(options, 7) for options in _all(data, 7)):
        schema.maps.add(name)
    for message in _all(data, 3):
        _add_message(schema, message, name)
    for enum in _all(data, 4):
        _add_enum(schema, enum, name)


def _add_enum(schema: Schema, data: bytes, scope: str) -> None:
    values = {_number(v, 2): _text(v, 1) for v in reversed(_all(data, 2))}
    schema.enums[f"{scope}.{_text(data, 1)}"] = values


def _field(data: bytes) -> Field:
    return Field(_text(data, 1), _number(data, 3), _number(data, 4) == 3, _number(data, 5), _text(data, 6))


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


def _packed(spec: Field, value: Raw) -> Iterator[Raw]:
    assert isinstance(value, bytes)
    at, width = 0, {_FLOAT: 4, _DOUBLE: 8}.get(spec.kind)
    while at < len(value):
        if width:
            yield value[at : at + width]
            at += width
        else:
            number, at = varint(value, at)
            yield number


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
