"""What a file sets for some processes of a job alone, which compile other programs then and wait for the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache

from ...knowledge.compared import severity_of
from ...knowledge.families import launchers
from ...model import Finding, SettingKind
from ...values import Value
from .mapped import Span, line_start
from .python_nodes import every_node, line_begins, parsed

__all__ = ["Given", "rank_spans", "set_by_rank"]

CALLED = frozenset(
    {"rank", "local_rank", "world_rank", "global_rank", "process_id", "process_index", "proc_id", "procid"}
)
"""What programs call the number of a process."""
BODY = r"(?P<body>.*?)"
RANK = r"\$\{?(?:@)\b"
COMPARED = rf"(?:{RANK}[^\s\]]*\s*(?:[=!]=?|-(?:eq|ne|[lg][te])\b)|(?:=|-(?:eq|ne|[lg][te]))\s*[\"']?{RANK})"
"""With a number; ``[ -z "$RANK" ]`` asks whether a launcher started the program."""
SHELL = (
    rf"\b(?:el)?if\b(?=[^\n]*?{COMPARED})[^\n]*?(?:;|\n)\s*then\b{BODY}\bfi\b",
    rf"(?:\[|\btest\b)(?=[^\n&|]*?{COMPARED})[^\n&|]*&&{BODY}(?:\n|;|$)",
    rf"\bcase\b[^\n]*{RANK}[^\n]*\bin\b{BODY}\besac\b",
)
"""What asks for the number of a process, and what is done for that one, or for the others."""


WHY = {
    "xla_flag": "with other flags they compile other programs, and the job can hang at the first of them",
    "env": "NCCL has to choose the same in all of them, and the job can hang where it does not",
}
"""https://github.com/jax-ml/jax/issues/38503, https://github.com/NVIDIA/JAX-Toolbox/pull/612"""


class Given(Value):
    """One setting at its place: a flag, or a variable; ``text``: as it is told."""

    at: int
    name: str
    text: str


def rank_spans(text: str, kind: str) -> Iterator[Span]:
    """From where to where a file says what some processes do. Raises SyntaxError for what is no Python."""
    if kind == "python":
        yield from _in_python(text)
    elif kind in ("shell", "dockerfile", "yaml") and _pattern(RANK).search(text):
        for pattern in map(_pattern, SHELL):
            yield from (found.span("body") for found in pattern.finditer(text) if not _is_comment(text, found.start()))


def set_by_rank(given: Iterable[Given], spans: Iterable[Span]) -> Iterator[tuple[int, Finding]]:
    """(where, what) of each setting there that has to be the same in every process."""
    within = tuple(spans)
    for one in given:
        kind: SettingKind = "xla_flag" if one.name.startswith("xla_") else "env"
        if any(start <= one.at < end for start, end in within) and severity_of(kind, one.name) == "error":
            message = f"{one.text} is set for some processes of the job alone: {WHY[kind]}."
            yield one.at, Finding("set-by-rank", "warning", message, "Set it alike in every process.")


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(template.replace("@", "|".join(sorted(_ranks()))), re.DOTALL)


@cache
def _ranks() -> frozenset[str]:
    """The variables in which launchers tell the number of a process."""
    return frozenset(name for one in launchers().values() for name in (*one.rank, *one.local_rank))


def _is_comment(text: str, at: int) -> bool:
    return text[line_start(text, at) : at].lstrip().startswith("#")


def _in_python(text: str) -> Iterator[Span]:
    begins = [*line_begins(text), len(text) + 1]
    for node in every_node(parsed(text)):
        if isinstance(node, ast.If) and _asks_for_rank(node.test):
            for branch in filter(None, (node.body, node.orelse)):
                yield begins[branch[0].lineno - 1], begins[branch[-1].end_lineno or node.lineno]


def _asks_for_rank(test: ast.expr) -> bool:
    """Not whether there is one (``"RANK" in os.environ``, ``rank is None``)."""
    parts = list(ast.walk(test))
    if any(isinstance(part, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for part in parts):
        return False
    return any(_is_rank(part) for part in parts)


def _is_rank(node: ast.AST) -> bool:
    named = {getattr(node, "id", ""), getattr(node, "attr", "")}
    return bool(named & CALLED) or (isinstance(node, ast.Constant) and node.value in _ranks())
