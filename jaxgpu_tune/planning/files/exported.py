"""What a shell script assigns and does not export, so that the programs it starts do not see it."""

from __future__ import annotations

import re

from .commands import is_quiet
from .shell import ENDS, read_word

__all__ = ["is_kept_back"]

_ALONE = re.compile(r"(?:^|[\n;&|({])[ \t]*(?:(?:then|do|else)[ \t]+)?(?:\w+=\S*[ \t]+)*$")
_ENDS_THERE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|;|&&|\|\||$)")
_ALL = re.compile(r"\bset[ \t]+-\w*a\b|\ballexport\b")
_EXPORTED = r"\b(?:export|declare|typeset)\b[^\n;&|]*\b{0}\b|\$\{{?{0}\b"
"""Also handed on by its value, as in ``env A="$A" python``."""
LINE = 400


def is_kept_back(text: str, at: int, name: str) -> bool:
    """Whether it is assigned there alone, nothing exports it, and programs are started behind it."""
    if not text.startswith(name, at) or not _ALONE.search(text[max(0, at - LINE) : at]):
        return False
    end = read_word(text, text.index("=", at) + 1, ENDS)[2]
    if not _ENDS_THERE.match(text, end) or is_quiet(text, end):
        return False
    elsewhere = f"{text[:at]}\n{text[end:]}"
    return not (_ALL.search(elsewhere) or re.search(_EXPORTED.format(re.escape(name)), elsewhere))
