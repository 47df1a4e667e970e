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
COUNTED = {
    "vanished": "vanished",
    "meaning": "mean something else",
    "type": "of another type",
    "values": "with other values",
    "effect": "with another effect",
    "default": "with another default",
    "appeared": "new",
}
"""How the first line counts each kind."""


def changes_text(
    changes: Iterable[FlagChange],
    releases: tuple[str, str],
    width: int | None = None,
    only: Collection[str] | None = None,
    own: Collection[str] = (),
    new_too: bool = True,
) -> str:
    """Counts, then the changes under a heading a kind, each flag with what it was, what it became and what that means.

    ``only``: of these flags; ``own``: flags that are told first; ``new_too``: flags that appeared are listed, not only counted.
    """
    if only is not None and not only:
        return "There are no flags to look at: none are set."
    (old, new), columns = releases, width or terminal_width()
    kinds: dict[str, list[FlagChange]] = {}
    for change in changes:
        kinds.setdefault(change.change, []).append(change)
    if not kinds:
        return f"Nothing changed from {old} to {new}{' about these flags' if only else ''}."
    counts = ", ".join(f"{len(kinds[kind])} {COUNTED[kind]}" for kind in KINDS if kind in kinds)
    listed = [kind for kind in KINDS if kind in kinds and (new_too or kind != "appeared")]
    return "\n".join(
        [
            *hanging(f"From jaxlib {old} to {new}: {counts}.", columns),
            *_own_lines(kinds, own, columns),
            *(line for kind in listed for line in _section(kind, kinds[kind], new, columns)),
            *([] if new_too or "appeared" not in kinds else ["The new flags: --all"]),
        ]
    )


def _own_lines(kinds: dict[str, list[FlagChange]], own: Collection[str], width: int) -> list[str]:
    """What concerns the flags that are set here."""
    concerned = [change for changes in kinds.values() for change in changes if change.name in own]
    if not own:
        return []
    return ["Of the flags that are set here:", *(_lines(concerned, width) if concerned else ["  nothing changed"])]


def _section(kind: str, changes: list[FlagChange], new: str, width: int) -> Iterable[str]:
    return f"{HEADINGS[kind].format(new=new)} ({len(changes)})", *_lines(changes, width)


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
