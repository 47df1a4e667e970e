"""Commands of the shell in a file: which texts in quotes are some, and whether what one sets is seen by any program."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from ...knowledge.without_jax import words_without_jax
from .mapped import Site

__all__ = ["IN_THE_COMMAND", "SUBSHELL", "is_command", "is_item", "is_lost", "is_quiet", "keeps", "lost_in"]

IN_THE_COMMAND = "Set it in the command that starts the program."
BEFORE = 400
"""How many characters before the quotes may belong to their command."""
_RUN = re.compile(
    r"(?:^|[\s;&|(=/])(?:(?:ba|da|z|k|a|fi)?sh|su|runuser|script)\b[^\n;&|'\"]*\s-\w*c\s*$"
    r"|(?:^|[\s;&|(])(?:ssh|pdsh|clush|eval|parallel|watch)\b[^\n;&|'\"]*\s$"
    r"|--(?:wrap|command)[= ]$|[\"']-\w*c[\"']\s*,\s*$"
)
"""What stands before quotes whose text a shell runs: ``bash -c``, ``ssh host``, ``sbatch --wrap=``, ``["bash", "-c",``."""
_ITEM = re.compile(
    r"\b(?:args|command|entrypoint|(?P<kept>(?:before_|after_)?script))['\"]?:[ \t]*(?:#[^\n]*)?"
    r"(?:\[[^\]]*?|(?:\n[ \t]*[-#][^\n]*)*\n[ \t]*-[ \t]+)$"
)
"""What stands before an item of a list of YAML that holds what a container or a job runs; a job's lines share one shell."""
_KEPT = re.compile(r"(?:^|[\s;&|(])eval\s+$")
SUBSHELL = re.compile(
    r"(?<![\w$=<>(])\((?P<body>(?:[^()'\"\\]|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\$\([^()]*\)|\\.)*)\)", re.DOTALL
)
"""``(cd x; export A=1)``: a shell of its own, unlike ``$(…)``, ``f()`` and ``a=(…)``."""
_SETS = re.compile(r"(?:^|[\n;&|({])\s*(?:(?:export|declare|typeset|readonly)(?:\s+-\w+)*\s+)?(?:\w+=\S*\s+)*$")


def is_command(text: str, at: int) -> bool:
    """Whether what stands in the quotes at ``at`` is run by a shell."""
    return _RUN.search(_before(text, at)) is not None or is_item(text, at)


def is_item(text: str, at: int) -> bool:
    """Whether an item of a list of words to run begins there. Where it sets a variable before a command, only a shell can be meant."""
    return _item_before(text, at) is not None


def _item_before(text: str, at: int) -> re.Match[str] | None:
    return _ITEM.search(text[max(0, at - BEFORE) : at])


def keeps(text: str, at: int) -> bool:
    """Whether the shell that runs it is the one around it, so that what it sets stays."""
    item = _item_before(text, at)
    return item["kept"] is not None if item else _KEPT.search(_before(text, at)) is not None


def _before(text: str, at: int) -> str:
    """The same line, with those that it continues."""
    return re.split(r"(?<!\\)\n", text[max(0, at - BEFORE) : at])[-1]


def is_lost(text: str, at: int) -> bool:
    """Whether the shell that runs this text ends before a program could see what is set at ``at``."""
    if not _SETS.search(text[max(0, at - BEFORE) : at]):
        return False
    return is_quiet(text, at)


def is_quiet(text: str, at: int) -> bool:
    """Whether no program is started from there to the end."""
    while at < len(text):
        found = _quiet().match(text, at)
        if found is None:
            return False
        at = found.end()
    return True


@cache
def _quiet() -> re.Pattern[str]:
    """What starts no program that could read a variable: blanks, comments, commands, and assignments alone, without what a program says in them."""
    quiet = words_without_jax("reading_nothing")
    started = rf"(?:\$\(|`|[<>]\()(?!\(|\s*{quiet})"
    return re.compile(
        rf"[\s;&]+|\\\n|#[^\n]*|{quiet}(?:(?!{started})[^;&|\n])*"
        rf"|\w+\+?=(?:'[^']*'|\"(?:(?!{started})[^\"\\]|\\.)*\"|(?!{started})[^\s;&|'\"])*",
        re.DOTALL,
    )


def lost_in(text: str, sites: Iterable[Site], lines: re.Pattern[str], instead: str) -> Iterator[Site]:
    """The sites; those that a line (the group ``body``) sets in vain, as each line is a shell of its own, with what to write instead."""
    bodies = [found.span("body") for found in lines.finditer(text)]
    for site in sites:
        number = bisect_right(bodies, (site.at, len(text) + 1)) - 1
        start, end = bodies[number] if number >= 0 else (0, 0)
        lost = start <= site.at < end and is_lost(text[start:end], site.at - start)
        yield site._replace(lost=instead) if lost else site
