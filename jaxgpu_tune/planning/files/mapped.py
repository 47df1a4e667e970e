"""Text as a program will see it, with the place in the file that each character comes from."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

from ...values import Value
from ..xla_flags.grammar import BLANKS, Token, scan_file_text

__all__ = [
    "HOLE",
    "Edit",
    "Encoder",
    "Mapped",
    "Place",
    "Placed",
    "Site",
    "Span",
    "Spans",
    "as_it_stands",
    "as_json",
    "bracket_end",
    "in_file",
    "joined_text",
    "json_characters",
    "line_of",
    "line_start",
    "tokens_of",
]

HOLE = "\ue000"
"""Stands for a part that is known only when the program runs."""

Span = tuple[int, int]
Placed = tuple[str, Span]
"""A character, and its (start, end) in the file."""
Encoder = Callable[[str], "str | None"]
NOWHERE: Span = (-1, -1)
_JSON_CHARACTER = re.compile(r"(?:\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\(?:u[0-9a-fA-F]{4}|.)|[^\\]", re.DOTALL)


class Mapped(Value):
    """``text``, for each character its (start, end) in the file, and how a new text is written there.

    ``encode`` gives None where the text cannot be written in this kind of quotes. A character without a place in the
    file (a HOLE, a blank between two literals) has the empty span (-1, -1).
    """

    text: str
    spans: tuple[Span, ...]
    encode: Encoder

    @classmethod
    def of(cls, characters: Iterable[Placed], encode: Encoder) -> Mapped:
        """The characters, each with its place, as one text."""
        placed = tuple(characters)
        return cls("".join(character for character, _ in placed), tuple(span for _, span in placed), encode)

    @classmethod
    def joined(cls, pieces: Collection[Mapped], encode: Encoder) -> Mapped:
        """Several pieces as one text, which is written as ``encode`` says."""
        spans = (span for piece in pieces for span in piece.spans)
        return cls("".join(piece.text for piece in pieces), tuple(spans), encode)

    @classmethod
    def hole(cls) -> Mapped:
        """A part that is not known."""
        return cls(HOLE, (NOWHERE,), _never)

    def part(self, start: int, end: int | None = None) -> Mapped:
        """Its characters from ``start`` to before ``end``."""
        return self._replace(text=self.text[start:end], spans=self.spans[start:end])

    def parts(self, put_in: re.Pattern[str], head: str = "") -> Iterator[Mapped]:
        """What is known behind ``head`` (if it is there), with a hole for each match of ``put_in``: what only the program knows."""
        at = len(head) if self.text.startswith(head) else 0
        for found in put_in.finditer(self.text, at):
            yield self.part(at, found.start())
            yield Mapped.hole()
            at = found.end()
        yield self.part(at)

    def within(self, outer: Mapped) -> Mapped:
        """The same, where the file's characters are those of ``outer.text``: its places and its quotes around ours."""

        def encode(text: str) -> str | None:
            inner = self.encode(text)
            return None if inner is None else outer.encode(inner)

        return Mapped(self.text, tuple(_through(span, outer) for span in self.spans), encode)


class Site(Value):
    """One place where a variable is set: where it begins (``at``, in characters), and the pieces that make up its value, in order.

    ``unsure``: why nothing there can be rewritten; ``names``: variables that are put into it; ``lost``: what to write
    instead, where what is set ends with its line before any program could see it.
    """

    at: int
    pieces: tuple[Mapped, ...] = ()
    unsure: str = ""
    names: tuple[str, ...] = ()
    lost: str = ""

    @property
    def text(self) -> str:
        """The whole value, with a HOLE for each part that is not known."""
        return "".join(piece.text for piece in self.pieces)

    def within(self, outer: Mapped) -> Site:
        """The same, where the file's characters are those of ``outer.text``."""
        at = outer.spans[min(self.at, len(outer.spans) - 1)][0]
        return self._replace(at=at, pieces=tuple(piece.within(outer) for piece in self.pieces))


class Place(Value):
    """Where something stands in a file, for people: its line; of a notebook the cell, and the line in it. Both count from 1, cells of code alone."""

    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.cell is None else f"cell {self.cell}, line {self.line}"

    def of(self, name: str) -> str:
        """The same, behind the name of the file."""
        return f"{name}:{self.line}" if self.cell is None else f"{name}: {self}"

    @property
    def order(self) -> tuple[int, int]:
        """What stands further down is more."""
        return self.cell or 0, self.line


class Spans:
    """Named parts of a text, to be asked which of them is around a place: of those that overlap, the last that begins before it."""

    def __init__(self, spans: Iterable[tuple[str, int, int]]) -> None:
        self._spans = sorted(spans, key=lambda span: span[1:])
        self._starts = [start for _, start, _ in self._spans]
        self._ends = list(accumulate((end for _, _, end in self._spans), max))

    def around(self, at: int) -> list[str]:
        """The name of it, or none."""
        last = bisect_right(self._starts, at) - 1
        return [self._spans[last][0]] if last >= 0 and at < self._ends[last] else []


class Edit(Value):
    """Replace the file's characters from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


def as_it_stands(text: str, start: int = 0, encode: Encoder = str) -> Mapped:
    """Text that stands in the file as it is, from ``start`` on."""
    return Mapped(text, tuple((start + i, start + i + 1) for i in range(len(text))), encode)


def _never(_text: str) -> None:
    return None


def _through(span: Span, outer: Mapped) -> Span:
    start, end = span
    return span if span == NOWHERE else (outer.spans[start][0], outer.spans[end - 1][1])


def as_json(new: str) -> str:
    """A text between the quotes of JSON, whose escapes YAML and TOML read as well."""
    return json.dumps(new, ensure_ascii=False)[1:-1]


def json_characters(text: str, start: int, end: int) -> Iterator[Placed]:
    """What stands between the quotes of JSON, and of Lua, which escapes single quotes too. Raises ValueError for no escape of JSON's."""
    for found in _JSON_CHARACTER.finditer(text, start, end):
        is_escape = found[0][0] == "\\" and found[0] != "\\'"
        yield json.loads(f'"{found[0]}"') if is_escape else found[0][-1], found.span()


def bracket_end(text: str, at: int, opening: str, closing: str) -> int:
    """Where the bracket at ``at`` is closed, or the text ends."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in opening) - (text[i] in closing)
        if depth == 0:
            return i + 1
    return len(text)


def joined_text(pieces: Iterable[Mapped]) -> tuple[str, list[tuple[Mapped, int]]]:
    """The whole text, and for each of its characters the piece and the place in it."""
    parts = tuple(pieces)
    return "".join(part.text for part in parts), [(part, at) for part in parts for at in range(len(part.text))]


def in_file(places: Iterable[tuple[Mapped, int]]) -> list[Span]:
    """Where those of some characters stand that stand in the file: what is put in when the program runs does not."""
    return [piece.spans[at] for piece, at in places if piece.spans[at][0] >= 0]


def tokens_of(text: str) -> Iterator[Token]:
    """XLA's arguments in a text that may hold holes, and words that are no flags, each with its place."""
    at = 0
    while at < len(text):
        if text[at] in BLANKS + HOLE:
            at += 1
            continue
        if text[at] != "-":
            word = re.split(f"[{BLANKS}]", text[at:], maxsplit=1)[0]
            yield Token(word, None, None, start=at, end=at + len(word))
            at += len(word)
            continue
        token = scan_file_text(text[at:]).tokens[0]
        yield token._replace(start=at, end=at + len(token.text))
        at += max(len(token.text), 1)


def line_of(text: str, at: int) -> int:
    """The number of the line, from 1."""
    return bisect_left(_line_ends(text), at) + 1


def line_start(text: str, at: int) -> int:
    """Where the line begins that the place is in."""
    ends, number = _line_ends(text), line_of(text, at)
    return ends[number - 2] + 1 if number > 1 else 0


@lru_cache(maxsize=1)
def _line_ends(text: str) -> tuple[int, ...]:
    return tuple(found.start() for found in re.finditer("\n", text))
