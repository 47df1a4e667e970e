"""What YAML sets: Kubernetes' lists of name and value, maps of variables (Compose and others), ``NAME=value`` items."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..xla_flags.grammar import FLAGS
from .commands import is_item
from .mapped import Mapped, Placed, Site, as_it_stands, as_json, line_start
from .shell import shell_sites

__all__ = ["yaml_sites"]

_NAME = r"(?m)^(?P<lead>[ \t]*(?:-[ \t]+)*)name:[ \t]*(['\"]?){}\2[ \t]*(?:#.*)?$"
_FLOW = r"name:[ \t]*(['\"]?){}\1[ \t]*,[ \t]*value:[ \t]*"
_FLOW_MAP = r"(?<=[{{,])[ \t]*(['\"]?){}\1:[ \t]+"
_MAP = r"(?m)^(?P<lead>[ \t]*(?:-[ \t]+)*)(['\"]?){}\2:(?:[ \t]+|$)"
_ITEM = r"(?m)^(?P<lead>[ \t]*-[ \t]+)(?P<quote>['\"]?){}="
_REPLACED = re.compile(r"\$(?:\(\w+\)|\w+|\{[^}]*\})")
"""What Compose or Kubernetes replaces."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b"}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U00(0[0-9a-fA-F]{5}|10[0-9a-fA-F]{4})")
_BLANKS = re.compile(r"[ \t]*")


def yaml_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every value of the variable; commands in block scalars are read as a shell does."""
    taken: list[tuple[int, int]] = []
    for at, start, column in _starts(text, name):
        piece = _scalar(text, start, column)
        taken.append((at, max((end for _, end in piece.spans), default=start)))
        yield Site(at, tuple(piece.parts(_REPLACED, f"{name}=")))
    items = {found.start() for found in _items(text, name)}
    for site in shell_sites(text, name):
        if line_start(text, site.at) not in items and not any(start <= site.at <= end for start, end in taken):
            yield site


def _starts(text: str, name: str) -> Iterator[tuple[int, int, int]]:
    """(where it is told, where the value starts, the column of its key)."""
    for found in re.finditer(_NAME.format(name), text):
        value = _sibling(text, found)
        if value is not None:
            yield found.start(), value, len(found["lead"])
    for found in (one for form in (_FLOW, _FLOW_MAP) for one in re.finditer(form.format(name), text)):
        yield found.start(), found.end(), 0
    for found in re.finditer(_MAP.format(name), text):
        yield found.start(), found.end(), len(found["lead"])
    for found in _items(text, name):
        yield found.start(), found.end() if not found["quote"] else found.end("lead"), found["lead"].index("-")


def _items(text: str, name: str) -> Iterator[re.Match[str]]:
    """Each ``- NAME=value`` that is one setting, and no command that begins with it."""
    for found in re.finditer(_ITEM.format(name), text):
        words = text[found.end() : text.find("\n", found.end()) % (len(text) + 1)].split()
        alone = words and words[0][0] not in "'\"\\" and all(word[0] == "-" for word in words[1:])
        if alone or not is_item(text, found.start("quote")):
            yield found


def _sibling(text: str, name: re.Match[str]) -> int | None:
    """Where the value beside ``name: XLA_FLAGS`` starts: below it, or above it in the same item."""
    column = len(name["lead"])
    own = re.compile(rf"(?m)^[ ]{{{column}}}value:(?:[ \t]+|$)")
    below = own.search(text, name.end())
    end = re.compile(rf"(?m)^[ ]{{0,{max(column - 1, 0)}}}\S").search(text, name.end()) if column else None
    if below and (end is None or below.start() < end.start()):
        return below.end()
    above = re.compile(rf"(?m)^[ ]{{{max(column - 2, 0)}}}-[ ]+value:(?:[ \t]+|$)")
    item = [found for found in above.finditer(text, 0, name.start()) if "-" not in name["lead"]]
    return item[-1].end() if item else None


def _scalar(text: str, start: int, column: int) -> Mapped:
    mark = text[start : start + 1]
    if mark == '"':
        return _double(text, start)
    if mark == "'":
        return _single(text, start)
    if mark in "|>" and mark:
        return _block(text, text.find("\n", start) + 1, column)
    return _bare(text, start, column)


def _double(text: str, start: int) -> Mapped:
    characters: list[Placed] = []
    at = start + 1
    while at < len(text) and text[at] != '"':
        said, end = _escaped(text, at + 1) if text[at] == "\\" else (text[at], at + 1)
        if text[end - 1] == "\n":  # a line that goes on: with a blank in between, or none where the break is escaped
            said, end = said.replace("\n", " "), _after_blanks(text, end)
        characters += [(said, (at, end))] if said else []
        at = end
    return Mapped.of(characters, as_json)


def _escaped(text: str, at: int) -> tuple[str, int]:
    """What stands after a backslash, and where it ends; what is no escape, or no variable can hold, stands for itself."""
    if code := _CODE.match(text, at):
        said = chr(int(code[code.lastindex or 0], 16))
        return code[0] if said == "\0" or "\ud800" <= said <= "\udfff" else said, code.end()
    said = text[at : at + 1]
    return "" if said == "\n" else _ESCAPES.get(said, said), at + len(said)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _single(text: str, start: int) -> Mapped:
    characters: list[Placed] = []
    at = start + 1
    while at < len(text) and (text[at] != "'" or text[at + 1 : at + 2] == "'"):
        end = at + (2 if text[at] == "'" else 1)
        characters.append((" " if text[at] == "\n" else text[at], (at, end)))
        at = end
    return Mapped.of(characters, lambda new: new.replace("'", "''"))


def _block(text: str, start: int, column: int) -> Mapped:
    """To the first line that is not deeper than its key."""
    end = re.compile(rf"(?m)^[ ]{{0,{column}}}[^ \n]").search(text, start)
    return as_it_stands(text[start : end.start() if end else len(text)], start)


def _bare(text: str, start: int, column: int) -> Mapped:
    """To the end of the line, or of the deeper lines that follow; ``, `` and brackets end it only in flow style."""
    last = re.compile(rf"\n(?![ ]{{{column + 1},}}(?!- )[^ #\n])|\Z|[ \t]#").search(text, start)
    end = last.start() if last else len(text)
    flow = re.search(r"[}\],]", text[start:end]) if "{" in text[line_start(text, start) : start] else None
    body = text[start : start + flow.start()] if flow else text[start:end]
    return as_it_stands(body.rstrip(), start, _bare_text)


def _bare_text(new: str) -> str | None:
    return None if ": " in new or " #" in new else new
