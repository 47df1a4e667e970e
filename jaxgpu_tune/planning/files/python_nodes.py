"""The lines and nodes of a Python program: what they name, in which order they run, and what they leave of what was there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["bound_name", "every_node", "imported_names", "line_begins", "parsed", "text_in", "way_over", "what_runs"]

_NOT_YET = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp)
"""What is written there, and runs later."""


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name in the program, name in full) of what is imported anywhere in it."""
    for node in every_node(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (one.asname, one.name) if one.asname else (one.name.split(".")[0], one.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def bound_name(node: ast.AST) -> str:
    """The name that is given a value there; empty for what gives none."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def line_begins(text: str) -> tuple[int, ...]:
    """Where each line begins, as Python counts them: a lone carriage return is an end too."""
    return (0, *(found.end() for found in re.finditer(r"\r\n?|\n", text)))


@lru_cache(maxsize=1)
def parsed(source: str) -> ast.Module:
    """The program, which nobody may change: one file is asked for many things in a row. Raises SyntaxError for what is no Python."""
    return ast.parse(source)


@lru_cache(maxsize=1)
def every_node(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All that is in the program, in no order that it runs in."""
    return tuple(ast.walk(tree))


def text_in(node: ast.AST | None) -> str:
    """What a literal says; empty for what is none of a text."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def what_runs(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement in the order in which they are evaluated, as far as that matters: what is inside comes first."""
    if isinstance(node, _NOT_YET):
        return
    for part in ast.iter_child_nodes(node):
        yield from what_runs(part)
    yield node


def way_over(value: ast.expr) -> str:
    """The word "over" for a text that holds nothing of what was there; of names and calls it is not known."""
    known_only = all(isinstance(part, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Add)) for part in ast.walk(value))
    return "over" if known_only else ""
