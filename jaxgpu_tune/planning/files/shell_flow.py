"""The order in which a script, or a Dockerfile, sets XLA_FLAGS, and what may read it in between."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache

from ...knowledge.without_jax import words_without_jax
from ..xla_flags.grammar import FLAGS
from .commands import is_command
from .flow import FlowEvent
from .mapped import Site
from .shell import ENDS, HEREDOC, read_word

__all__ = ["shell_flow"]

_TOKEN = re.compile(
    r"(?P<gap>(?:[ \t]|\\\r?\n)+|#[^\n]*|(?:then|do|time|!|RUN(?:[ \t]+--\S+)*)(?=\s))"
    r"|(?P<case>;;&?(?:\s|#[^\n]*)*(?!\s|#|esac\b)[^()\n]*\))"
    r"|(?P<maybe>&&|\|\|)|(?P<end>[\r\n;&|])"
    r"|(?P<apart>(?:function[ \t]+)?[\w.-]+[ \t]*\([ \t]*\)\s*\{|function[ \t]+[\w.-]+\s*\{)"
    r"|(?P<opens>(?:if|while|until|begin)(?=[\s(])|\{(?=\s)|\(|(?:for|select|foreach)\s[^\n;]*|case\s[^\n]*?\sin\s+[^()\n]*\))"
    r"|(?P<or>(?:elif|else)(?=\s))"
    r"|(?P<closes>(?:fi|done|esac|end|endif|endsw)(?![\w./=-])|[)}])",
)
"""What stands where a command may begin; a case of ``case`` goes to its bracket."""
_GAP = re.compile(r"(?:[ \t\r]|\\\r?\n)+|\d*[<>]+&?\d?|#[^\n]*")
_ASSIGNMENT = re.compile(r"[\w.]+\+?=")
_SETTERS = frozenset({"export", "declare", "typeset", "readonly", "local", "set", "setenv", "ENV"})
_SAID = re.compile(r"(?:\$\(|`)[^)`]*\bpython")
"""What a program says that may have read it."""
_USED = re.compile(rf"\$\{{?{FLAGS}\b|{_SAID.pattern}")
"""That, or its value."""


def shell_flow(text: str, sites: Iterable[Site]) -> Iterator[FlowEvent]:
    """``sites``: in the order of the text. What stays for the commands that follow, and in a command of its own what is given to it twice."""
    known = [site for site in sites if not (site.unsure or site.lost) and _is_it(text, site.at)]
    places = [site.at for site in known]
    at, maybe = 0, False
    documents, nowhere = _documents(text), (len(text),) * 3
    begin, end, behind = next(documents, nowhere)
    while at < len(text):
        if at >= begin:
            yield FlowEvent(at, "apart")
            begin = len(text)
        if at >= end:
            yield FlowEvent(at, "closes")
            at = max(at, behind)
            begin, end, behind = next(documents, nowhere)
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            stop, words = _command(text, at)
            yield from _events(text, words, known[bisect_left(places, at) : bisect_left(places, stop)], maybe)
            at = max(stop, at + 1)
            continue
        if token.lastgroup in ("opens", "apart", "or", "closes"):
            yield FlowEvent(at, token.lastgroup)
        elif token.lastgroup == "case":
            yield FlowEvent(at, "or")
        maybe = token.lastgroup == "maybe" or (maybe and token.lastgroup == "gap")
        at = token.end()


@cache
def _without_jax() -> re.Pattern[str]:
    return re.compile(f"{words_without_jax('reading_nothing')}|{words_without_jax('without_jax')}")


def _documents(text: str) -> Iterator[tuple[int, int, int]]:
    """Where the lines of each here-document begin and end, and where the word stands behind that ends it."""
    done = 0
    for found in HEREDOC.finditer(text):
        body = text.find("\n", found.end()) + 1
        last = re.compile(rf"(?m)^[ \t]*{found[2]}$").search(text, body) if body and found.start() >= done else None
        if last and text[found.start() - 1 : found.start()] != "<":
            done = last.end()
            yield body, last.start(), done


def _is_it(text: str, at: int) -> bool:
    """Not a variable that is put into it, nor the one of a container."""
    return text.startswith(FLAGS, at) and text[at - 1 : at] != "_"


def _command(text: str, at: int) -> tuple[int, list[tuple[int, int]]]:
    """Where the command ends, and from where to where each of its words goes."""
    words: list[tuple[int, int]] = []
    while at < len(text) and text[at] not in "\n;&|()":
        gap = _GAP.match(text, at)
        if gap and gap.end() > at:
            at = gap.end()
            continue
        end = max(read_word(text, at, ENDS)[2], at + 1)
        words.append((at, end))
        at = end
    return at, words


def _events(text: str, words: list[tuple[int, int]], sites: list[Site], maybe: bool) -> Iterator[FlowEvent]:
    start, end = words[0][0] if words else 0, words[-1][1] if words else 0
    first = next((text[slice(*word)] for word in words if not _ASSIGNMENT.match(text, word[0])), "")
    sets = [FlowEvent(site.at, "sets", site.text, FLAGS in site.names) for site in sites]
    if first in ("", *_SETTERS):
        used = any(
            _USED.search(text, *word) for word in words if not any(word[0] <= site.at < word[1] for site in sites)
        )
        yield from [FlowEvent(start, "reads")] if used else []
        yield from [FlowEvent(start, "opens"), *sets, FlowEvent(end, "closes")] if maybe else sets
    elif first in ("unset", "unsetenv"):
        yield from [FlowEvent(start, "reads")] if FLAGS in text[start:end] else []
    elif sets or _SAID.search(text, start, end) or not _without_jax().match(text, start):
        given = [
            event
            for event, site in zip(sets, sites, strict=True)
            if any(one <= site.at < other and not is_command(text, one) for one, other in words)
        ]
        apart = any(text[slice(*word)] == ":" for word in words)
        yield from [] if apart else [FlowEvent(start, "apart"), *given, FlowEvent(end, "closes")]
        yield FlowEvent(start, "reads")
