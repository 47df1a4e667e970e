"""The variables of JAX, XLA, NCCL, CUDA and this library that a file sets, beside XLA_FLAGS: each with its place and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ...values import Value
from ..merging.inherit import is_judged, is_looked_at
from ..xla_flags.grammar import FLAGS
from .exported import own_command
from .file_kinds import sites_of
from .mapped import HOLE, Site, line_start
from .shell import CONTAINERS

__all__ = ["SetHere", "part_of", "variables_set"]

_NAME = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]+_[A-Z0-9_]+(?![A-Za-z0-9_])")
_OPTION = re.compile(r"\bupdate\((?:\s|\\n)*\\?['\"](jax_\w+)|\b(jax\.)?config\.(jax_\w+)\s*=(?!=)")
"""As Python sets an option of jax.config, also where it stands in a text of JSON."""
_DEFINED = re.compile(r"(?<!\bupdate)\(\s*(?:name\s*=\s*)?\\?['\"](jax_\w+)")
"""As a program may define one of its own."""
JAX_S, ANYONE_S = "jax's", "anyone's"
"""Whose an option is: ``config`` alone may be an object of the program's."""
NESTED = ("yaml", "json")
"""Kinds that may set variables of several programs, each in its own list or map."""
COMMANDS = ("shell", "dockerfile")
"""Kinds that may set variables of one command alone, as the lines of a Makefile's recipes do."""
AT_RUN_TIME = "its value is known only when the program runs"


class SetHere(Value):
    """One variable at one place. ``value`` None: it cannot be known, and ``unreadable`` says why where the value matters.

    ``option``: of whose config it is one, under the name of its variable; empty: of none. ``part``: equal for those that are set together, below 0 where that is one command, which sees what is set in 0, too; ``lost``: as of a Site.
    """

    at: int
    name: str
    value: str | None
    unreadable: str = ""
    part: int = 0
    lost: str = ""
    option: str = ""


def variables_set(text: str, kind: str) -> tuple[SetHere, ...]:
    """In the order of the file. Raises SyntaxError or ValueError where it cannot be read as its kind."""
    options = _options(text, kind)
    written = [*map(_in_container, _NAME.findall(text)), *options]
    names = {name for name in written if is_looked_at(name.upper()) and name != FLAGS}
    found = (
        _option_here(site, name, options[name]) if name in options else _set_here(site, name, text, kind)
        for name in sorted(names)
        for site in sites_of(text, kind, name)
    )
    return tuple(sorted(filter(None, found), key=lambda one: one.at))


def _options(text: str, kind: str) -> dict[str, str]:
    """The options that Python sets, and whose each is."""
    found = _OPTION.findall(text) if kind in ("python", "notebook") else []
    of_jax = {update or assigned for update, by_jax, assigned in found if update or by_jax}.difference(
        _DEFINED.findall(text)
    )
    return {name: JAX_S if name in of_jax else ANYONE_S for name in (one[0] or one[2] for one in found)}


def _option_here(site: Site, name: str, whose: str) -> SetHere:
    known = not (site.unsure or HOLE in site.text)
    return SetHere(site.at, name.upper(), site.text if known else None, option=whose)


def _in_container(name: str) -> str:
    """What a variable is called in the container that it is meant for."""
    return name.removeprefix(next((prefix for prefix in CONTAINERS if name.startswith(prefix)), ""))


def _set_here(site: Site, name: str, text: str, kind: str) -> SetHere | None:
    """None where nothing is assigned: a name without a value takes what is set around the file."""
    in_command = kind in COMMANDS or (kind == "makefile" and text[line_start(text, site.at)] == "\t")
    part = part_of(text, site.at) if kind in NESTED else -own_command(text, site.at) if in_command else 0
    if site.unsure or HOLE in site.text:
        return SetHere(site.at, name, None, (site.unsure or AT_RUN_TIME) if is_judged(name) else "", part, site.lost)
    return SetHere(site.at, name, site.text, part=part, lost=site.lost) if site.text.strip() else None


def part_of(text: str, at: int) -> int:
    """Where the last line above begins that is less indented: the list or the map that this one is in."""
    return _parts_of(text)[line_start(text, at)]


@lru_cache(maxsize=1)
def _parts_of(text: str) -> Mapping[int, int]:
    """For the start of each line."""
    found, around = {}, [(-1, 0)]
    for start in (0, *(one.end() for one in re.finditer("\n", text))):
        indent = _indent(text, start)
        while len(around) > 1 and around[-1][0] >= indent:
            around.pop()
        found[start] = around[-1][1]
        around.append((indent, start))
    return found


def _indent(text: str, start: int) -> int:
    """How deep a line is; the items of a YAML list may begin in the column of their key."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    inner = line.lstrip()
    return 2 * (len(line) - len(inner)) + inner.startswith("-") if inner else 2 * len(text)
