"""Protocol-buffer bytes, read without a protobuf library."""

from __future__ import annotations

from jaxgpu_tune.proof import wire


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


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


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
