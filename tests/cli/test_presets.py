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
