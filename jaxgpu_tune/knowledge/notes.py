"""Notes: what a flag, a variable or an option does and where it goes wrong, in this project's words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..model import SettingKind
from ..values import Value
from .tables import KINDS, read_table

__all__ = ["Note", "all_notes", "note"]


class Note(Value):
    """``does`` and ``traps`` are sentences (traps may be empty); ``source`` is a public page."""

    kind: SettingKind
    name: str
    does: str
    traps: str = ""
    source: str = ""


def note(name: str) -> Note | None:
    """Return the note on a flag (without dashes), variable or option; a JAX_* variable finds its option's note."""
    notes = all_notes()
    return notes.get(name) or (notes.get(name.lower()) if name.startswith("JAX_") else None)


@lru_cache(maxsize=1)
def all_notes() -> Mapping[str, Note]:
    """Every note by name."""
    return {
        name: Note(KINDS[key], name, **entry)
        for key, entries in read_table("notes").items()
        for name, entry in entries.items()
    }
