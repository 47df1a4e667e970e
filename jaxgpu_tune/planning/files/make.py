"""What a Makefile sets: make's own assignments, which end with the line, and the shell's in its recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..xla_flags.grammar import FLAGS
from .commands import lost_in
from .mapped import Mapped, Site, as_it_stands
from .shell import QUOTES, shell_sites

__all__ = ["makefile_sites"]

_ASSIGNED = r"(?m)^(?!\t)(?:[^\n#=:]+:(?![:=]))?[ ]*(?:(?:export|override|private)[ \t]+)*(?P<name>{})[ \t]*(?P<how>[:?+!]|::+)?=[ \t]*"
"""Also for one target: ``train: export NAME = value``."""
_NAME = re.compile(r"\$\((\w+)\)|\$\{(\w+)\}")
_REPLACED = re.compile(r"\$\$|\$(?:\((?:[^()]|\([^)]*\))*\)|\{[^}]*\}|\w)")
ADDED = (Mapped.hole(), as_it_stands(" ")._replace(spans=((-1, -1),)))
_RECIPE = re.compile(r"(?m)^\t[@+-]*(?P<body>(?:[^\\\n]|\\[\s\S])*)")
_END = re.compile(r"(?<!\\)\n|\Z|(?<!\\)#")


def makefile_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every assignment of the variable. Make adds a blank before what ``+=`` adds; ``!=`` runs a command."""
    made: set[int] = set()
    for found in re.finditer(_ASSIGNED.format(re.escape(name)), text):
        made.add(found.start("name"))
        start, end = found.end(), _line_end(text, found.end())
        if "export" not in found[0] and text[start : start + 1] in QUOTES and text[start] == text[end - 1]:
            start, end = start + 1, end - 1  # the shell of a recipe takes them off; what is exported keeps them
        value = (Mapped.hole(),) if found["how"] == "!" else tuple(_pieces(text, start, end))
        names = tuple(one[1] or one[2] for one in _NAME.finditer(text, start, end))
        yield Site(found.start("name"), (*ADDED, *value) if found["how"] == "+" else value, names=names)
    others = (site for site in shell_sites(text, name) if site.at not in made)
    instead = f"Each line of a recipe is a shell of its own: write export {name} = … outside of recipes."
    yield from others if ".ONESHELL:" in text else lost_in(text, others, _RECIPE, instead)


def _line_end(text: str, at: int) -> int:
    found = _END.search(text, at)
    return len(text[:at]) + len(text[at : found.start()].rstrip()) if found else len(text)


def _pieces(text: str, at: int, end: int) -> Iterator[Mapped]:
    """Make keeps quotes, joins lines by a blank, and puts variables in; ``$$`` is one dollar, for the shell to read."""
    for found in _REPLACED.finditer(text, at, end):
        yield from _joined(text, at, found.start())
        yield Mapped.hole()
        at = found.end()
    yield from _joined(text, at, end)


def _joined(text: str, start: int, end: int) -> Iterator[Mapped]:
    if start < end:
        whole = as_it_stands(text[start:end], start, _for_make)
        yield whole._replace(text=re.sub(r"\\\n", "  ", whole.text))


def _for_make(new: str) -> str:
    return new.replace("$", "$$")
