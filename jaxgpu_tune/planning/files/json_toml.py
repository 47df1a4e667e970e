"""What JSON, TOML and Lua set: the variable's name, then its value as a text in quotes; or both in one text. Also flags alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..xla_flags.grammar import FLAGS
from .mapped import Mapped, Site, as_it_stands, as_json, json_characters
from .shell import shell_sites

__all__ = ["json_sites", "text_sites"]

_TEXT = r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_BARE = r"(?P<bare>[\w.+-]+)"
_VALUE = r"['\"]?\bvalue['\"]?[ \t]*[:=][ \t]*"
_NAMED = rf"(?:\"{{0}}\"|'{{0}}'|(?<![\w'\"]){{0}}\b)[ \t]*[:=,][ \t]*(?!{_VALUE})"
_PAIR = rf"\bname['\"]?[ \t]*[:=][ \t]*(?:\"{{0}}\"|'{{0}}'),\s*{_VALUE}"
"""Kubernetes' and Amazon ECS's lists of name and value."""
_WHOLE = r"(?P<text>\"{0}=(?:[^\"\\\n]|\\.)*\"|'{0}=[^'\n]*')"
_PUT_IN = re.compile(r"\$\{[^}]*\}|\$\w+")


def json_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every value of the variable, as of ``containerEnv`` and ``runArgs``; a number or a word may stand without quotes.

    The same for TOML (``XLA_FLAGS = "…"`` of a table) and Lua (``setenv("XLA_FLAGS", "…")`` of a module file).
    """
    named = f"(?:{_NAMED.format(name)}|{_PAIR.format(name)})(?:{_TEXT}|{_BARE})"
    for found in (*re.finditer(named, text), *re.finditer(_WHOLE.format(name), text)):
        bare = found.groupdict().get("bare")
        value = as_it_stands(bare, found.start("bare")) if bare else _read(text, *found.span("text"))
        yield Site(found.start(), tuple(value.parts(_PUT_IN, f"{name}=")))


def text_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """A file that holds flags and nothing else, as XLA_FLAGS may name one; else what is assigned in it."""
    if name == FLAGS and text.lstrip().startswith("-"):
        yield Site(0, (as_it_stands(text),))
    else:
        yield from shell_sites(text, name)


def _read(text: str, start: int, end: int) -> Mapped:
    if text[start] == "'":
        return as_it_stands(text[start + 1 : end - 1], start + 1, _literal)
    return Mapped.of(json_characters(text, start + 1, end - 1), as_json)


def _literal(new: str) -> str | None:
    return None if "'" in new else new
