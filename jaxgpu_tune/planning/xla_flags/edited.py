"""What the user made of XLA_FLAGS after this library wrote it, told by position: which parts stand, what was put in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...state import FlagsText
from ...values import Value
from .grammar import BLANKS

__all__ = ["edited"]

WORD = re.compile(f"[^{BLANKS}]+")
NAME = re.compile(r"\b(?:xla|legacy)_\w+", re.IGNORECASE)
GLUED_BEHIND = re.compile(rf"$|[{BLANKS}\"'\u2018-\u201f#]|[,;]?(--|[\u2010-\u2015\u2212])")
"""What may follow our text where it stands unchanged: a flag that lacks the blank before it, too."""


class _Piece(Value):
    """A part that stands, by its number; or text that was put in (``part`` None)."""

    text: str
    part: int | None = None


def edited(flags: FlagsText, now: str) -> tuple[str, tuple[str, ...]]:
    """The user's XLA_FLAGS, and the names (``--name``) of what was changed or taken out after us.

    Our own parts are left out. What of the user's we had replaced stands again where ours stood, unless that was changed.
    """
    pieces = _pieces(flags.texts, now)
    there = {_name(piece.text) for piece in pieces if piece.part is not None}
    gone = {_name(text) for text in flags.texts} - there
    return " ".join(_users(flags, pieces, gone)), tuple(sorted({*gone, *_put_in(pieces)}))


def _users(flags: FlagsText, pieces: list[_Piece], gone: set[str]) -> Iterator[str]:
    """What of the text is the user's; ``gone``: the names that are not in it any more."""
    if flags.parts is None:
        yield from (piece.text for piece in pieces)
        return
    settled = gone.union(_name(flags.read[part]) for part in flags.parts if isinstance(part, int))
    replaced: dict[str, str] = {}
    for name, text in ((_name(text), text) for text in flags.read):
        if name not in settled:
            replaced[name] = f"{replaced[name]} {text}" if name in replaced else text
    ours = {piece for piece in pieces if piece.part is not None and isinstance(flags.parts[piece.part], str)}
    standing = {_name(piece.text) for piece in ours}
    yield from (text for name, text in replaced.items() if name not in standing)
    for piece in pieces:
        said = replaced.get(_name(piece.text)) if piece in ours else piece.text
        if said is not None:
            yield said


def _put_in(pieces: list[_Piece]) -> set[str]:
    """The names in text that was put in; where one that stood there follows, XLA has that one."""
    found: set[str] = set()
    for piece in pieces:
        if piece.part is None:
            found |= {f"--{name.lower()}" for name in NAME.findall(piece.text)}
        else:
            found.discard(_name(piece.text))
    return found


def _pieces(parts: tuple[str, ...], now: str) -> list[_Piece]:
    whole = " ".join(parts)
    at = now.find(whole) if whole else -1
    while at >= 0:
        end = at + len(whole)
        if GLUED_BEHIND.match(now, end) and (at == 0 or now[at - 1] in f"{BLANKS}\"'"):
            middle = [_Piece(text, n) for n, text in enumerate(parts)]
            return [*_text(now[:at]), *middle, *_text(now[end:])]
        at = now.find(whole, at + 1)
    return _by_words(parts, now)


def _text(text: str) -> list[_Piece]:
    plain = text.strip(BLANKS)
    return [_Piece(plain)] if plain else []


def _by_words(parts: tuple[str, ...], now: str) -> list[_Piece]:
    """Which parts stand in a text that was changed among them: those all of whose words do, one behind the other."""
    from difflib import SequenceMatcher

    wanted = [WORD.findall(part) for part in parts]
    there = list(WORD.finditer(now))
    words = [found[0] for found in there]
    matcher = SequenceMatcher(None, [word for part in wanted for word in part], words, autojunk=False)
    place = {a + k: b + k for a, b, size in matcher.get_matching_blocks() for k in range(size)}
    begins: dict[int, int] = {}
    at = 0
    for n, part in enumerate(wanted):
        mine = [place.get(at + k, -1) for k in range(len(part))]
        if mine and mine[0] >= 0 and mine == list(range(mine[0], mine[0] + len(mine))):
            begins[n] = mine[0]
        at += len(part)
    begins |= _moved(wanted, words, begins)
    pieces, end = [], 0
    for n in sorted(begins, key=begins.__getitem__):
        first, last = there[begins[n]], there[begins[n] + len(wanted[n]) - 1]
        pieces += [*_text(now[end : first.start()]), _Piece(parts[n], n)]
        end = last.end()
    return [*pieces, *_text(now[end:])]


def _moved(wanted: list[list[str]], words: list[str], begins: dict[int, int]) -> dict[int, int]:
    """Where those parts stand that are there whole, at another place than they were."""
    taken = {at + k for n, at in begins.items() for k in range(len(wanted[n]))}
    found: dict[int, int] = {}
    for n, part in enumerate(wanted):
        if part and n not in begins:
            free = (at for at in range(len(words)) if words[at : at + len(part)] == part)
            spot = next((at for at in free if taken.isdisjoint(range(at, at + len(part)))), None)
            if spot is not None:
                found[n] = spot
                taken.update(range(spot, spot + len(part)))
    return found


def _name(text: str) -> str:
    return text.partition("=")[0]
