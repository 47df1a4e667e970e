"""Which programs see what a shell script sets: none where it is not exported, one where it is set for one command."""

from __future__ import annotations

import re

from .commands import is_quiet
from .shell import ENDS, read_word

__all__ = ["is_kept_back", "own_command"]

_ALONE = re.compile(r"(?:^|[\n;&|({])[ \t]*(?:(?:then|do|else)[ \t]+)?(?:\w+=\S*[ \t]+)*$")
_ENDS_THERE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|;|&&|\|\||$)")
_ALL = re.compile(r"\bset[ \t]+-\w*a\b|\ballexport\b")
_EXPORTED = r"\b(?:export|declare|typeset)\b[^\n;&|]*\b{0}\b|\$\{{?{0}\b"
"""Also handed on by its value, as in ``env A="$A" python``."""
_UNIT = re.compile(r"(?:^|\n)[ \t]*Environment=[^\n]*$")
"""A unit of systemd sets all of the line for its programs."""
LINE = 400
_BEGINS = re.compile(r"(?<!\\)\n|[;&|(]")
_STAYS = re.compile(
    r"\s*(?:(?:then|do|else|\{)\s+)*(?:(?:export|declare|typeset|readonly|setenv|set|ENV|ARG)\b|\w+=[\"']?$|#)"
)
"""How a line begins that sets something for all that follow: of the shell, a Dockerfile, a unit of systemd, a job's options."""
_WORDS = re.compile(r"(?:\w+=(?:'[^']*'|\"[^\"]*\"|[^\s'\"])*\s+)*")
_NEXT = re.compile(r"(?:[ \t]|\\\n)*")


def own_command(text: str, at: int) -> int:
    """Where the command begins, from 1, for which alone a variable is set there; 0: it stays for those that follow, or in a text in quotes."""
    start = max((found.end() for found in _BEGINS.finditer(text, max(0, at - LINE), at)), default=max(0, at - LINE))
    head = text[start:at]
    outside = head[:-1] if head[-1:] in ("'", '"') else head
    if _STAYS.match(head) or outside.count("'") % 2 or outside.count('"') % 2:
        return 0
    alone = _WORDS.fullmatch(head.lstrip()) is not None
    return 0 if alone and not _has_program(text, at) else start + 1


def _has_program(text: str, at: int) -> bool:
    """Whether a command follows the assignment, and those that stand behind it."""
    while (equals := re.compile(r"\w+\+?=").match(text, at)) is not None:
        at = read_word(text, equals.end(), ENDS)[2]
        if _ENDS_THERE.match(text, at):
            return False
        behind = _NEXT.match(text, at)
        at = behind.end() if behind else at
    return True


def is_kept_back(text: str, at: int, name: str) -> bool:
    """Whether it is assigned there alone, nothing exports it, and programs are started behind it."""
    before = text[max(0, at - LINE) : at]
    if not text.startswith(name, at) or not _ALONE.search(before) or _UNIT.search(before):
        return False
    end = read_word(text, text.index("=", at) + 1, ENDS)[2]
    if not _ENDS_THERE.match(text, end) or is_quiet(text, end):
        return False
    elsewhere = f"{text[:at]}\n{text[end:]}"
    return not (_ALL.search(elsewhere) or re.search(_EXPORTED.format(re.escape(name)), elsewhere))
