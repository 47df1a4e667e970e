"""What is written as TOML is read back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge.tables import read_toml
from jaxgpu_tune.measure.preset_text import toml_table, toml_text


def loads(text: str) -> dict[str, Any]:
    """As the library reads preset files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.toml"
        path.write_bytes(text.encode())
        return dict(read_toml(path))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS)
def test_any_text(text: str) -> None:
    """Quotes, backslashes, lines, control characters and DEL included."""
    assert loads(f"a = {toml_text(text)}") == {"a": text}


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), TEXTS))
def test_any_table(table: dict[str, str]) -> None:
    assert loads(f"a = {toml_table(table)}") == {"a": table}
