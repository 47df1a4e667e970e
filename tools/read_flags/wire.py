"""Protocol-buffer bytes, read without a protobuf library: the descriptor in a binary, and the messages it describes."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Value: TypeAlias = "int | bytes"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE, _FLOAT, _BOOL, _STRING, _MESSAGE, _BYTES_TYPE, _ENUM = 1, 2, 8, 9, 11, 12, 14


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at ``at`` and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def entries(data: bytes, at: int = 0) -> Iterator[tuple[int, int, Value, int]]:
    """(field number, wire type, value, end) one after another, until the bytes end or make no sense."""
    while at < len(data) and data[at]:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value: Value
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


def _all(data: bytes, number: int) -> list[Any]:
    return [value for n, _, value, _ in entries(data) if n == number]


def _text(data: bytes, number: int) -> str:
    found = _all(data, number)
    return found[-1].decode() if found else ""


def _number(data: bytes, number: int) -> int:
    found = _all(data, number)
    return int(found[-1]) if found else 0


@dataclass(frozen=True)
class Field:
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


@dataclass
class Schema:
    """Messages and enums by full name (``.xla.DebugOptions``); ``maps`` are the entry types of map fields."""

    messages: dict[str, dict[int, Field]] = field(default_factory=dict)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)
    maps: set[str] = field(default_factory=set)


def schema_of(binary: bytes, root: str) -> Schema:
    """What the file ``root`` and all it imports declare, from the descriptors embedded in ``binary``."""
    schema = Schema()
    todo, seen = [root], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for found in _file_descriptors(binary, name):
            _add_file(schema, found)
            todo += [d.decode() for d in _all(found, 3)]
    return schema


def _file_descriptors(binary: bytes, name: str) -> Iterator[bytes]:
    head = b"\x0a" + bytes([len(name)]) + name.encode()
    for match in re.finditer(re.escape(head), binary):
        end = match.start()
        for number, _, _, at in entries(binary, match.start()):
            if not (number <= 14) or (number == 1 and end != match.start()):
                break
            end = at
        if end > match.end():
            yield binary[match.start() : end]


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


def _pair(schema: Schema, spec: Field, value: Value) -> Mapping[str, Any]:
    assert isinstance(value, bytes)
    pair = decode(schema, spec.of, value)
    return {str(pair.get("key", "")): pair.get("value", "")}


def _values(schema: Schema, spec: Field, kind: int, value: Value) -> list[Any]:
    if kind == _BYTES and not (spec.is_string or spec.is_message):
        return [_plain(schema, spec, number) for number in _packed(spec, value)]
    return [_plain(schema, spec, value)]


def _packed(spec: Field, value: Value) -> Iterator[Value]:
    assert isinstance(value, bytes)
    at, width = 0, {_FLOAT: 4, _DOUBLE: 8}.get(spec.kind)
    while at < len(value):
        if width:
            yield value[at : at + width]
            at += width
        else:
            number, at = varint(value, at)
            yield number


def _plain(schema: Schema, spec: Field, value: Value) -> Any:
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
