"""Plain-text columns: every cell wrapped, nothing cut off."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["hanging", "table", "wrapped"]

GAP = "  "


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most ``width`` characters, each after ``indent``; a word that is longer is broken."""
    from textwrap import wrap

    room = max(width - len(indent), 8)
    return [indent + line for line in wrap(text, room, break_on_hyphens=False)] or [indent.rstrip()]


def hanging(text: str, width: int, indent: str = "") -> list[str]:
    """Lines as ``wrapped`` makes them, all but the first four characters further in."""
    first, *rest = wrapped(text, width - len(indent) - 4)
    return [f"{indent}{first}", *(f"{indent}    {line}" for line in rest)]


def table(rows: Sequence[Sequence[str]], width: int, indent: str = "", narrowest: int = 12) -> list[str]:
    """Lines of ``rows`` in columns, the first row as head; the last column takes the width that is left."""
    widths = _widths(rows, width - len(indent), narrowest)
    return [(indent + line).rstrip() for row in rows for line in _row(row, widths)]


def _widths(rows: Sequence[Sequence[str]], width: int, narrowest: int) -> list[int]:
    """Each column as wide as its longest cell; the widest but the last give way until the last has its share."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    gaps = len(GAP) * (len(widths) - 1)
    last = min(widths[-1], max(width // 3, narrowest))
    while sum(widths[:-1]) + gaps + last > width and max(widths[:-1]) > narrowest:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths[-1] = max(width - gaps - sum(widths[:-1]), narrowest)
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    from itertools import zip_longest

    columns = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = zip_longest(*columns, fillvalue="")
    return [GAP.join(part.ljust(width) for part, width in zip(line, widths, strict=True)) for line in lines]
