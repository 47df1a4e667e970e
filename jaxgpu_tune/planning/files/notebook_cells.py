"""What the cells of a notebook set: Python, ``%env``, lines for the shell, and cells of bash."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..xla_flags.grammar import FLAGS
from .mapped import Mapped, Placed, Site, as_it_stands, as_json
from .python import python_sites
from .shell import shell_sites

__all__ = ["notebook_sites"]

_SOURCE = re.compile(r'"source"\s*:\s*')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(r"(?:\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\(?:u[0-9a-fA-F]{4}|.)|[^\\]", re.DOTALL)
_MAGIC = re.compile(r"(?m)^(?P<indent>[ \t]*)(?P<mark>%+|!)(?P<line>.*)$")
_ENV = r"%(?:set_)?env[ \t]+{}[ =][ \t]*"
_SHELL_CELL = re.compile(r"%%(?:bash|sh|script)\b")


def notebook_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every place in every cell of code. Raises ValueError for what is no notebook."""
    prose = _prose(json.loads(text))
    for cell in (cell for cell in _cells(text) if cell.text not in prose):
        yield from (_placed(site, cell) for site in _cell_sites(cell.text, name))


def _prose(notebook: Any) -> frozenset[str]:
    """The texts of cells that do not run."""
    cells = notebook.get("cells", ()) if isinstance(notebook, dict) else ()
    told = (cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") in ("markdown", "raw"))
    return frozenset("".join(cell.get("source", ())) for cell in told)


def _cells(text: str) -> Iterator[Mapped]:
    """The source of each cell: one string, or a list of lines."""
    for found in _SOURCE.finditer(text):
        strings = [_STRING.match(text, found.end())]
        if text[found.end()] == "[":
            end = _list_end(text, found.end() + 1)
            strings = list(_STRING.finditer(text, found.end(), end))
        characters = [
            c for string in strings if string for c in _characters(text, string.start() + 1, string.end() - 1)
        ]
        yield Mapped.of(characters, as_json)


def _list_end(text: str, at: int) -> int:
    while at < len(text) and text[at] != "]":
        string = _STRING.match(text, at)
        at = string.end() if string else at + 1
    return at


def _characters(text: str, start: int, end: int) -> Iterator[Placed]:
    for found in _ESCAPE.finditer(text, start, end):
        said = json.loads(f'"{found[0]}"') if found[0][0] == "\\" else found[0]
        yield said, found.span()


def _cell_sites(source: str, name: str) -> Iterator[Site]:
    if _SHELL_CELL.match(source.lstrip()):
        yield from shell_sites(source, name)
        return
    for line in _MAGIC.finditer(source):
        if found := re.compile(_ENV.format(name)).match(source, line.start("mark")):
            yield Site(found.start(), (as_it_stands(source[found.end() : line.end()], found.end()),))
        elif line["mark"] == "!":
            inner = shell_sites(line["line"], name)
            yield from (_shifted(site, line.start("line")) for site in inner)
    try:
        yield from python_sites(
            _MAGIC.sub(lambda line: f"{line['indent']}pass".ljust(len(line[0]))[: len(line[0])], source), name
        )
    except (SyntaxError, ValueError):
        if name in source:
            yield Site(source.index(name), unsure="the cell cannot be read as Python")


def _shifted(site: Site, by: int) -> Site:
    moved = tuple(
        piece._replace(spans=tuple((s + by, e + by) if s >= 0 else (s, e) for s, e in piece.spans))
        for piece in site.pieces
    )
    return site._replace(at=site.at + by, pieces=moved)


def _placed(site: Site, cell: Mapped) -> Site:
    at = cell.spans[min(site.at, len(cell.spans) - 1)][0]
    return site._replace(at=at, pieces=tuple(piece.within(cell) for piece in site.pieces))
