"""What is told where wishes meet: who gives way to whom, and what is given more than once. With the wording of a wish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model import Finding
from ...wording import written
from ..base.wish import Wish
from ..release.target import Target, same

__all__ = ["YIELDS", "equal", "list_steps", "overruled", "repeats", "shown", "text_of", "yielding"]

YIELDS = "preset-yields"
"""The code of a finding: what is set already wins over a preset's setting."""


def overruled(losers: Iterable[Wish], winner: Wish) -> Iterator[Finding]:
    """What was set or asked for before and gives way is told; what an earlier call gave way to was told then."""
    for loser in {(w.name, w.origin): w for w in losers if w.value is not None}.values():
        if loser.origin == "existing":
            message = f"{shown(loser)} was set already; {shown(winner)} ({winner.source}) takes its place."
            code = "request-holds" if winner.origin == "request" else "overruled"
            yield Finding(code, "warning", message, "Set it in one place only.")
        elif loser.origin == "request" and winner.origin == "argument":
            what = "it is removed" if winner.value is None else f"{shown(winner)} ({winner.source}) takes its place"
            message = f"{shown(loser)} was {loser.reason}; {what}."
            yield Finding("overruled", "warning", message, "Ask for it in one place only.")


def yielding(group: list[Wish], winner: Wish, target: Target) -> Iterator[Finding]:
    """What a preset would set otherwise, and what is set already stands against."""
    for wish in {w.source: w for w in group if w.origin == "preset" and not equal(w, winner, target)}.values():
        message = f"{shown(winner)} was set already and wins over {shown(wish)} ({wish.source})."
        yield Finding(YIELDS, "note", message, 'prefer="preset" takes the preset\'s; or leave yours out.')


def repeats(existing: list[Wish], last: dict[str, Wish]) -> Iterator[Finding]:
    for wish in existing:
        winner = last[wish.name]
        if winner is not wish and winner.value != wish.value:
            message = f"{shown(wish)} is given again: XLA has {shown(winner)} in the end, which alone is kept."
            yield Finding("repeated-flag", "note", message)


def list_steps(existing: list[Wish]) -> Iterator[Finding]:
    for wish in existing:
        if wish.given is not None and not wish.translated:
            message = f"{shown(wish)} changes the list that stands before it: all are kept as they are."
            yield Finding("repeated-flag", "note", message)


def equal(left: Wish, right: Wish, target: Target) -> bool:
    if left.name != right.name or left.value is None or right.value is None:
        return left.name == right.name and left.value == right.value
    spec = target.flag(left.name) if left.kind == "xla_flag" else None
    return same(spec, left.value, right.value) if spec is not None else bool(left.value == right.value)


def shown(wish: Wish) -> str:
    """A wish as a person would write it."""
    from ..base.secrets import shown_value

    text = shown_value(wish.name, text_of(wish)) if wish.kind == "env" else wish.given or text_of(wish)
    return written(wish.kind, wish.name, text)


def text_of(wish: Wish) -> str | None:
    """The text that is emitted for a wish's value."""
    if wish.value is None or isinstance(wish.value, str):
        return wish.value
    if isinstance(wish.value, bool):
        return "true" if wish.value else "false"
    return str(wish.value)
