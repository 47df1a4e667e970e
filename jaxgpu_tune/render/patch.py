"""A change of a file as ``patch`` and ``git apply`` read it."""

from __future__ import annotations

__all__ = ["unified"]

NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified(name: str, before: str, after: str) -> str:
    """The unified diff, for ``patch -p0``; empty if nothing changed. A line ends at a line feed, nowhere else."""
    if before == after:
        return ""
    from difflib import unified_diff

    header = _header(name)
    lines = unified_diff(_lines(before), _lines(after), header, header)
    return "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in lines)


def _header(name: str) -> str:
    """A name as diff and git write it: a tab ends one with blanks, quotes hold one with tabs, quotes or backslashes."""
    if any(character in name for character in '\t\n"\\'):
        from json import dumps

        return dumps(name, ensure_ascii=False)
    return f"{name}\t" if " " in name else name


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]
