"""What changed between two releases, as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..planning.release.changes import KINDS, FlagChange
from .table import hanging, wrapped
from .text import terminal_width

__all__ = ["changes_text"]

HEADINGS = {
    "vanished": "Vanished: {new} has no such flag",
    "meaning": "Meaning changed: the same text does something else",
    "type": "Type changed",
    "values": "Accepted values changed",
    "effect": "Effect changed",
    "default": "Default changed",
    "appeared": "Appeared",
}


def changes_text(
    changes: Iterable[FlagChange],
    old: str,
    new: str,
    width: int | None = None,
    only: Collection[str] | None = None,
) -> str:
    """The changes under a heading a kind, each flag with what it was, what it became and what that means. ``only``: of these flags."""
    if only is not None and not only:
        return "There are no flags to look at: none are set."
    columns = width or terminal_width()
    kinds: dict[str, list[FlagChange]] = {}
    for change in changes:
        kinds.setdefault(change.change, []).append(change)
    if not kinds:
        return f"Nothing changed from {old} to {new}{' about these flags' if only else ''}."
    sections = [
        line
        for kind in KINDS
        if kind in kinds
        for line in (f"{HEADINGS[kind].format(new=new)} ({len(kinds[kind])})", *_lines(kinds[kind], columns))
    ]
    return "\n".join([f"From jaxlib {old} to {new}", *sections])


def _lines(changes: list[FlagChange], width: int) -> Iterable[str]:
    for change in changes:
        yield from hanging(f"--{change.name}{_values(change)}", width, "  ")
        yield from (line for note in change.notes for line in wrapped(_short(change, note), width, "      "))


def _short(change: FlagChange, note: str) -> str:
    """Of XLA's own help the first sentence; there are many new flags."""
    return f"{note.split('. ', maxsplit=1)[0].rstrip('.')}." if change.change == "appeared" else note


def _values(change: FlagChange) -> str:
    before, after = change.before, change.after
    if change.change == "values":
        return "".join([f": no longer {before}" if before else "", f": now also {after}" if after else ""])
    if change.change == "effect":
        return ": sets nothing any more" if before else f": sets {after} now"
    shown = [text or "(empty)" for text in (before, after) if text is not None]
    return f": {' -> '.join(shown)}" if len(shown) > 1 else f" = {shown[0]}"
