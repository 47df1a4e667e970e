"""``presets``: the list."""

from __future__ import annotations

import json

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_presets_are_listed_with_their_kind() -> None:
    """In the table and in JSON."""
    found = {entry["name"]: entry["kind"] for entry in json.loads(call("presets", "--json").stdout)}
    assert found["fsdp"] == "maintained" and found["jax-toolbox"] == "published"
    assert all(name in call("presets").stdout for name in found)


def test_one_preset_is_told_as_explain_tells_it_and_what_is_none_is_a_mistake() -> None:
    for words in (("fsdp",), ("fsdp", "--json"), ("fsdpp",), ("fsdp", "decode")):
        told, expected = call("presets", *words), call("explain", *words)
        assert (told.exit_code, told.stdout) == (expected.exit_code, expected.stdout)
    assert "fsdp" in call("presets", "fsdpp").output
