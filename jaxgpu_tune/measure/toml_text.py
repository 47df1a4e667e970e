"""Texts and tables as TOML, for the preset files that are written."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["toml_table", "toml_text"]


def toml_text(value: str) -> str:
    """A TOML string. JSON's escapes are TOML's, too; what JSON leaves as it is and TOML does not allow is DEL alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_table(entries: Mapping[str, str]) -> str:
    """An inline table of strings."""
    return f"{{ {', '.join(f'{name} = {toml_text(value)}' for name, value in entries.items())} }}"
