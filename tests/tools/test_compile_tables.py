"""The tables that are read at start-up say what the authored ones say."""

from __future__ import annotations

from tools.compile_tables import compiled


def test_every_compiled_table_is_up_to_date() -> None:
    stale = [path.name for path, text in compiled().items() if path.read_text() != text]
    assert stale == [], "run: python -m tools.compile_tables"
