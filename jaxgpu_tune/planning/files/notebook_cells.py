"""What the cells of a notebook set: Python, ``%env``, lines for the shell, and cells of bash."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from ...values import Value
from ..xla_flags.grammar import FLAGS
from .mapped import Mapped, Place, Site, as_it_stands, as_json, json_characters, line_of
from .python import python_sites
from .python_nodes import line_begins, parsed
from .shell import command_sites

__all__ = ["cell_place", "code_spans", "notebook_python", "notebook_sites"]

PROSE = ("markdown", "raw", "heading")
"""Cells that do not run."""
_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_MAGIC = re.compile(r"(?m)^(?P<indent>[ \t]*)(?P<mark>%+|!)(?P<line>.*)$")
_ENV = r"%(?:set_)?env[ \t]+{}[ =][ \t]*"
_SETS = re.compile(r"%(?:set_)?env[ \t]+(?P<name>\w+)[ =][ \t]*(?P<value>.*)")
_CALLS = {"%jaxgpu_tune ": "jaxgpu_tune.configure()", "!": "get_ipython()", "%run ": "get_ipython()"}
"""How lines of magic begin, and the calls that they stand for."""
_SHELL_CELL = re.compile(r"%%(?:bash|sh|script)\b")
_DECODER = json.JSONDecoder()


class Cell(Value):
    """The source of one cell of code: what it says, and from where to where it stands in the file."""

    said: Mapped
    start: int
    end: int


def notebook_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every place in every cell of code. Raises ValueError for what is no notebook."""
    for cell in _code(text):
        yield from (site.within(cell.said) for site in _cell_sites(cell.said.text, name))


def code_spans(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where the sources of cells of code stand. Raises ValueError for what is no notebook."""
    return tuple((cell.start, cell.end) for cell in _code(text))


def cell_place(text: str, at: int) -> Place:
    """In its cell of code; of what is in none, in the file. Raises as above."""
    for number, cell in enumerate(_code(text), 1):
        if cell.start <= at < cell.end:
            before = bisect_left(cell.said.spans, (at, at))
            return Place(cell.said.text.count("\n", 0, before) + 1, number)
    return Place(line_of(text, at))


def notebook_python(text: str) -> tuple[str, tuple[int, ...]]:
    """The cells of Python one after the other as one program, and where in the file each of its lines begins. Raises as above."""
    sources, begins = ["import os, jaxgpu_tune"], [0]
    for cell in _code(text):
        source = _MAGIC.sub(_as_python, cell.said.text)
        if source.strip() and not _SHELL_CELL.match(cell.said.text.lstrip()) and _is_python(source):
            sources.append(source)
            begins += [cell.said.spans[min(at, len(cell.said.spans) - 1)][0] for at in line_begins(cell.said.text)]
    return "\n".join(sources), tuple(begins)


def _as_python(line: re.Match[str]) -> str:
    """What sets something or starts a program, as a statement; of other magics nothing is known."""
    if found := _SETS.match(line[0].strip()):
        variable = f"os.environ[{found['name']!r}]"
        value = (
            variable if re.search(r"[{$]", found["value"]) else repr(found["value"])
        )  # what IPython puts in is not known
        return f"{line['indent']}{variable} = {value}"
    known = (call for begin, call in _CALLS.items() if line[0].lstrip().startswith(begin))
    return f"{line['indent']}{next(known, 'pass')}"


def _is_python(source: str) -> bool:
    try:
        parsed(source)
    except (SyntaxError, ValueError):
        return False
    return True


@lru_cache(maxsize=1)
def _code(text: str) -> tuple[Cell, ...]:
    json.loads(text)
    return tuple(cell for at in _cells_of(text, 0) for cell in _code_of(text, at))


def _cells_of(text: str, at: int) -> Iterator[int]:
    """Where each cell begins; format 3 has them in worksheets."""
    tops = {name: start for name, start, _ in _members(text, at)}
    sheets = _items(text, tops.get("worksheets", len(text)))
    yield from (cell for sheet in sheets for cell in _cells_of(text, sheet))
    yield from _items(text, tops.get("cells", len(text)))


def _code_of(text: str, at: int) -> Iterator[Cell]:
    """The source of a cell, if the cell runs: one string, or a list of lines."""
    members = {name: (start, end) for name, start, end in _members(text, at)}
    kind = text[slice(*members.get("cell_type", (0, 0)))].strip('"')
    source = members.get("source") or members.get("input")  # as format 3 calls it
    if kind not in PROSE and source:
        start, end = source
        strings = _STRING.finditer(text, start, end)
        characters = [one for string in strings for one in json_characters(text, string.start() + 1, string.end() - 1)]
        yield Cell(Mapped.of(characters, as_json), start, end)


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of each value of the object that begins there; of another value nothing."""
    at = _next(text, at)
    if text[at : at + 1] != "{":
        return
    at = _next(text, at + 1)
    while text[at] != "}":
        name, after = _DECODER.raw_decode(text, at)
        start = _next(text, after)
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        at = _next(text, end)


def _items(text: str, at: int) -> Iterator[int]:
    """Where each value of the list begins that begins there; of another value nothing."""
    if text[at : at + 1] != "[":
        return
    at = _next(text, at + 1)
    while text[at] != "]":
        yield at
        at = _next(text, _DECODER.raw_decode(text, at)[1])


def _next(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _cell_sites(source: str, name: str) -> Iterator[Site]:
    if name not in source:
        return
    # the kernel does not see what a shell beside it sets
    instead = f"Write %env {name}=…, which sets it for the notebook, in a cell before JAX is used."
    if _SHELL_CELL.match(source.lstrip()):
        yield from command_sites(as_it_stands(source), name, instead)
        return
    for line in _MAGIC.finditer(source):
        if found := re.compile(_ENV.format(name)).match(source, line.start("mark")):
            yield Site(found.start(), (as_it_stands(source[found.end() : line.end()], found.end()),))
        elif line["mark"] == "!":
            yield from command_sites(as_it_stands(line["line"], line.start("line")), name, instead)
    try:
        yield from python_sites(
            _MAGIC.sub(lambda line: f"{line['indent']}pass".ljust(len(line[0]))[: len(line[0])], source), name
        )
    except (SyntaxError, ValueError):
        yield Site(source.index(name), unsure="the cell cannot be read as Python")
