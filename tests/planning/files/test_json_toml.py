"""XLA_FLAGS in JSON, TOML and Lua."""

from __future__ import annotations

import json

from hypothesis import given, settings

from tests.planning.files.flags_in_files import FLAGS, expected, rewritten


@settings(max_examples=25, deadline=None)
@given(flags=FLAGS)
def test_json_reads_what_was_meant(flags: list[str]) -> None:
    """Escapes included; JSON itself reads it back."""
    new = rewritten(json.dumps({"env": {"XLA_FLAGS": " ".join(flags), "B": "x"}}, indent=1), "json")
    read = json.loads(new)["env"]
    assert read["B"] == "x"
    if not any("$" in flag for flag in flags):
        assert read["XLA_FLAGS"].split() == expected(flags)
