"""Python's string literals, one after the other, with the place of each character."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .mapped import Mapped, Placed, bracket_end

__all__ = ["literals"]

_OPENING = re.compile(r"(?i)(?P<prefix>[rbuft]{0,2})(?P<mark>\"\"\"|'''|\"|')")
_BETWEEN = re.compile(r"(?:[\s()]|\\\n|#[^\n]*)+")
_ESCAPE = re.compile(r"\\(?:N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)


def literals(source: Mapped) -> Iterator[Mapped]:
    """The literals that make up one constant or f-string (``"a" "b"``), a hole for each ``{…}``."""
    at, text = 0, source.text
    while at < len(text):
        if between := _BETWEEN.match(text, at):
            at = between.end()
            continue
        opening = _OPENING.match(text, at)
        if opening is None:
            return
        characters, at = _read(text, opening)
        yield from _pieces(characters, opening, source)


def _read(text: str, opening: re.Match[str]) -> tuple[list[Placed], int]:
    """The characters with their places, "" for what an f-string puts in; and where the literal ends."""
    prefix, mark, at = opening["prefix"].lower(), opening["mark"], opening.end()
    found: list[Placed] = []
    while at < len(text) and not text.startswith(mark, at):
        end, said = at + 1, text[at]
        if said == "\\":
            escape = _ESCAPE.match(text, at)
            end = escape.end() if escape else end
            said = text[at:end] if "r" in prefix else _unescaped(text[at:end])
        elif "f" in prefix and text[at : at + 2] in ("{{", "}}"):
            end = at + 2
        elif "f" in prefix and said == "{":
            end, said = bracket_end(text, at, "{[(", "}])"), ""
        # a raw escape is several characters, each at its own place
        if len(said) == end - at > 1:
            found += [(character, (at + i, at + i + 1)) for i, character in enumerate(said)]
        elif said or text[at] == "{":
            found.append((said, (at, end)))
        at = end
    return found, at + len(mark)


def _unescaped(escape: str) -> str:
    if escape == "\\\n":
        return ""
    try:
        return str(ast.literal_eval(f'"{escape}"')) if escape != '\\"' else '"'
    except (SyntaxError, ValueError):
        return escape


def _pieces(characters: list[Placed], opening: re.Match[str], source: Mapped) -> Iterator[Mapped]:
    said: list[Placed] = []

    def encode(new: str) -> str | None:
        return _encoded(new, opening["prefix"].lower(), opening["mark"])

    for character in characters:
        if character[0]:
            said.append(character)
        else:
            yield Mapped.of(said, encode).within(source)
            yield Mapped.hole()
            said = []
    yield Mapped.of(said, encode).within(source)


def _encoded(new: str, prefix: str, mark: str) -> str | None:
    if "r" in prefix:
        text = None if mark[0] in new or "\\" in new else new
    else:
        text = new.replace("\\", "\\\\").replace(mark[0], f"\\{mark[0]}")
    return text.replace("{", "{{").replace("}", "}}") if text and "f" in prefix else text
