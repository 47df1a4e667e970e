"""Protocol-buffer bytes, read without a protobuf library."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.proof import wire
from tests.protobuf import field, number


def test_wire_reads_numbers_texts_and_packed_lists() -> None:
    schema = wire.Schema()
    schema.messages[".M"] = {
        1: wire.Field("number", 1, False, 5, ""),
        2: wire.Field("kinds", 2, True, 14, ".E"),
        3: wire.Field("text", 3, False, 9, ""),
    }
    schema.enums[".E"] = {0: "ZERO", 1: "ONE"}
    data = b"\x08" + b"\xff" * 9 + b"\x01" + b"\x12\x02\x00\x01" + b"\x1a\x02hi"
    assert wire.decode(schema, ".M", data) == {"number": -1, "kinds": ["ZERO", "ONE"], "text": "hi"}


def declared(name: str, tag: int, kind: int, of: str = "", label: int = 1) -> bytes:
    """A FieldDescriptorProto."""
    return field(1, name.encode()) + field(3, tag) + field(4, label) + field(5, kind) + field(6, of.encode())


ENUM = field(1, b"E") + b"".join(
    field(2, field(1, n) + field(2, v)) for n, v in ((b"ZERO", 0), (b"ONE", 1), (b"UNO", 1))
)
PAIR = field(1, b"Pair") + field(2, declared("key", 1, 9)) + field(2, declared("value", 2, 5)) + field(7, field(7, 1))
MESSAGE = b"".join(
    (
        field(1, b"M"),
        field(2, declared("number", 1, 3)),
        field(2, declared("flag", 2, 8)),
        field(2, declared("text", 3, 9)),
        field(2, declared("kind", 4, 14, ".p.E")),
        field(2, declared("double", 5, 1)),
        field(2, declared("sub", 6, 11, ".p.M")),
        field(2, declared("map", 7, 11, ".p.M.Pair", 3)),
        field(2, declared("numbers", 8, 3, label=3)),
        field(2, declared("texts", 9, 9, label=3)),
        field(2, declared("doubles", 10, 1, label=3)),
        field(2, declared("raw", 11, 12)),
        field(2, declared("float", 12, 2)),
        field(3, PAIR),
        field(4, field(1, b"Inner") + field(2, field(1, b"A") + field(2, 0))),
    )
)
OTHER = field(1, b"o.proto") + field(2, b"q") + field(4, field(1, b"Other"))
FILE = field(1, b"m.proto") + field(2, b"p") + field(3, b"o.proto") + field(4, MESSAGE) + field(5, ENUM)
BINARY = b"\x7fELF m.proto " + field(1, b"m.proto") + b"\xff\xff" + FILE + b"\0\0" + OTHER + b"\0" + b"more"


def test_a_descriptor_is_found_in_a_binary() -> None:
    """With what it imports, as deep as was asked; names count from the package on."""
    schema = wire.schema_of(BINARY, "m.proto")
    assert set(schema.messages) == {".p.M", ".p.M.Pair", ".q.Other"} and schema.maps == {".p.M.Pair"}
    assert schema.enums == {".p.E": {0: "ZERO", 1: "ONE"}, ".p.M.Inner": {0: "A"}}
    assert schema.messages[".p.M"][7] == wire.Field("map", 7, True, 11, ".p.M.Pair")
    assert schema.messages[".p.M"][1] == wire.Field("number", 1, False, 3, "")
    assert set(wire.schema_of(BINARY, "m.proto", levels=0).messages) == {".p.M", ".p.M.Pair"}
    assert set(wire.schema_of(BINARY, "o.proto").messages) == {".q.Other"}
    assert wire.schema_of(BINARY, "n.proto").messages == {}


def test_two_files_in_a_row_are_two() -> None:
    """The second name ends the first file's descriptor."""
    assert set(wire.schema_of(OTHER + FILE, "o.proto").messages) == {".q.Other"}


SCHEMA = wire.schema_of(BINARY, "m.proto")
LONG = st.integers(-(2**63), 2**63 - 1)
DOUBLE = st.floats(allow_nan=False)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": LONG,
    "flag": st.booleans(),
    "text": st.text(max_size=200),
    "kind": st.sampled_from(["ZERO", "ONE"]),
    "double": DOUBLE,
    "map": st.dictionaries(st.text(max_size=3), st.integers(0, 2**31 - 1), min_size=1, max_size=3),
    "numbers": st.lists(LONG, min_size=1, max_size=3),
    "texts": st.lists(st.text(max_size=3), min_size=1, max_size=3),
    "doubles": st.lists(DOUBLE, min_size=1, max_size=3),
}
MESSAGES = st.recursive(
    st.fixed_dictionaries({}, optional=VALUES),
    lambda sub: st.fixed_dictionaries({"sub": sub}, optional=VALUES),
    max_leaves=3,
)


def encoded(message: dict[str, Any], packed: bool) -> bytes:
    """A message of the schema as bytes. ``packed``: lists of numbers as one field, as proto3 has them."""
    tags = {one.name: one.number for one in SCHEMA.messages[".p.M"].values()}
    return b"".join(_field(tags[name], name, value, packed) for name, value in message.items())


def _field(tag: int, name: str, value: Any, packed: bool) -> bytes:
    if name == "sub":
        return field(tag, encoded(value, packed))
    if name == "kind":
        return field(tag, ["ZERO", "ONE"].index(value))
    if name == "map":
        return b"".join(field(tag, field(1, key.encode()) + field(2, item)) for key, item in value.items())
    if name in ("numbers", "doubles") and packed:
        return field(tag, b"".join(struct.pack("<d", one) if name == "doubles" else number(one) for one in value))
    if isinstance(value, list):
        return b"".join(field(tag, one.encode() if isinstance(one, str) else one) for one in value)
    return field(tag, value.encode() if isinstance(value, str) else value)


@given(MESSAGES, st.booleans())
def test_what_is_written_is_read(message: dict[str, Any], packed: bool) -> None:
    assert wire.decode(SCHEMA, ".p.M", encoded(message, packed)) == message


def test_what_is_unknown_is_kept_as_it_stands() -> None:
    """A field that the schema lacks, a member without a name, text that is no text, a float; and what makes no sense ends it."""
    data = (
        field(99, 7) + field(4, 9) + field(11, b"\xff") + number(12 << 3 | 5) + struct.pack("<f", 0.5) + field(3, b"a")
    )
    expected = {"#99": "7", "kind": 9, "raw": "\udcff", "float": 0.5, "text": "a"}
    assert wire.decode(SCHEMA, ".p.M", data) == expected
    assert wire.decode(SCHEMA, ".p.M", data + number(3 << 3 | 3) + field(1, 1)) == expected
    assert wire.decode(SCHEMA, ".p.M", data + b"\0" + field(1, 1)) == expected


def test_what_nobody_sets_is_zero() -> None:
    zeros = wire.zeros(SCHEMA, ".p.M")
    assert zeros == {
        **dict.fromkeys(("number", "sub"), 0),
        **dict.fromkeys(("text", "raw"), ""),
        **{name: [] for name in ("numbers", "texts", "doubles")},
        "flag": False,
        "kind": "ZERO",
        "double": 0.0,
        "float": 0.0,
        "map": {},
    }
    assert [type(zeros[name]) for name in ("flag", "double", "float", "number")] == [bool, float, float, int]


@pytest.mark.parametrize(("tag", "found"), [(6, b"second"), (9, b"")])
def test_the_last_of_a_field_counts(tag: int, found: bytes) -> None:
    assert wire.Message(field(6, b"first") + field(1, 2) + field(6, b"second")).raw(tag) == found


def file(name: str, message: str, *imports: str) -> bytes:
    """The descriptor of a file that declares one message, in the package ``p``."""
    needed = b"".join(field(3, one.encode()) for one in imports)
    return field(1, name.encode()) + field(2, b"p") + needed + field(4, field(1, message.encode()))


def test_a_schema_is_of_a_file_and_of_those_that_it_imports_wherever_they_stand() -> None:
    one, two = file("a/one.proto", "One", "b/two.proto", "absent.proto"), file("b/two.proto", "Two", "c.proto")
    named = b"\n\x0ba/one.proto\x7f and so on \n\x05a/one.proto"
    binary = b"\0".join([b"a/one.proto", two, named, file("c.proto", "Three"), one, file("d.proto", "Other"), b""])
    assert set(wire.schema_of(binary, "a/one.proto").messages) == {".p.One", ".p.Two", ".p.Three"}
    assert set(wire.schema_of(binary, "a/one.proto", levels=1).messages) == {".p.One", ".p.Two"}
    assert wire.schema_of(binary, "no.proto").messages == {}
