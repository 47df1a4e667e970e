"""A text of XLA flags with carets under its faults, what XLA does with it, and what to write instead."""

from __future__ import annotations

from ..planning.release.reading import Reading
from .table import wrapped

__all__ = ["reading_lines"]

SHOWN = {"\n": "⏎", "\t": "⇥"}


def reading_lines(read: Reading, width: int) -> list[str]:
    """Empty where nothing has to be written otherwise."""
    if read.instead == read.text or not (read.faults or read.instead):
        return []
    from shlex import quote

    does = wrapped(f"XLA {read.does}", width)
    return [*_underlined(read, width - 2), *does, f"Write: XLA_FLAGS={quote(read.instead)}"]


def _underlined(read: Reading, width: int) -> list[str]:
    """The text in lines of that width, each with its carets below it."""
    text = "".join(SHOWN.get(c, c if c.isprintable() else "�") for c in read.text)
    marks = "".join("^" if any(start <= at < end for start, end in read.faults) else " " for at in range(len(text)))
    lines = []
    for at in range(0, len(text), width):
        lines += [f"  {text[at : at + width]}", f"  {marks[at : at + width]}".rstrip()]
    return [line for line in lines if line]
