"""What a .env file, a quoting too many or an editor of Windows leaves around a value. Pure."""

from __future__ import annotations

__all__ = ["unwrapped"]

PAIRS = ('""', "''", "\u201c\u201d", "\u2018\u2019")


def unwrapped(text: str) -> str:
    """The text without ends of lines at its ends, and without a pair of quotes around all of it; its own blanks stay."""
    plain = text.strip()
    if len(plain) > 1 and plain[0] + plain[-1] in PAIRS and plain[0] not in plain[1:-1]:
        return unwrapped(plain[1:-1])
    return plain if text.strip(" \t") != plain else text
