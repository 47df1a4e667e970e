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
