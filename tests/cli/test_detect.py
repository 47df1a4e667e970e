"""``detect``: what is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_detect_writes_what_it_reads(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its JSON serves as a machine file."""
    first = call("detect", "--json").stdout
    machine.write_text(first)
    assert call("detect", "--json").stdout == first
    assert "8 x NVIDIA H100" in call("detect").stdout
