"""The order in which a Python program sets XLA_FLAGS, and what may read it in between."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from ...knowledge.without_jax import is_call_without_jax
from ..xla_flags.grammar import FLAGS
from .flow import FlowEvent
from .mapped import HOLE
from .python_names import InEnviron, Names
from .python_nodes import bound_name, every_node, parsed, text_in

__all__ = ["python_flow"]


def python_flow(source: str) -> Iterator[FlowEvent]:
    """Each at its line. Raises SyntaxError for what is no Python."""
    tree = parsed(source)
    yield from _Reader(tree).of(tree.body)


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._names = Names(tree)
        named = Counter(filter(None, map(bound_name, every_node(tree))))
        self._given = {
            node.targets[0].id: node.value
            for node in every_node(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and named[node.targets[0].id] == 1
            and not any(isinstance(part, ast.Name) for part in ast.walk(node.value))
        }

    def of(self, body: Sequence[ast.stmt]) -> Iterator[FlowEvent]:
        """What a list of statements does, in order."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield FlowEvent(node.lineno, "apart")
                yield from self.of(node.body)
                yield FlowEvent(node.lineno, "closes")
            elif isinstance(node, ast.ClassDef):
                yield from self.of(node.body)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                yield from (event for item in node.items for event in self._simple(item.context_expr))
                yield from self.of(node.body)
            elif isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
                yield from self.of(node.body)
            elif ways := _ways(node):
                yield from self._chosen(node, ways)
            else:
                yield from self._simple(node)

    def _chosen(self, node: ast.stmt, ways: Sequence[Sequence[ast.stmt]]) -> Iterator[FlowEvent]:
        if isinstance(node, ast.If) and self._is_only_where_unset(node):
            yield FlowEvent(node.lineno, "unless")
        else:
            asked = (getattr(node, field, None) for field in ("test", "iter", "subject"))
            yield from chain.from_iterable(map(self._simple, filter(None, asked)))
        kinds = ("opens", *("or" for _ in ways[1:]))
        for kind, way in zip(kinds, ways, strict=True):
            yield FlowEvent(node.lineno, kind)
            yield from self.of(way)
        yield FlowEvent(node.lineno, "closes")
        yield from self.of(getattr(node, "finalbody", ()))

    def _simple(self, node: ast.stmt | ast.expr) -> Iterator[FlowEvent]:
        given = self._given_by(node.value if isinstance(node, ast.Expr) else node)
        if given and given.way == "unless":
            yield FlowEvent(node.lineno, "unless")
        elif given:
            yield FlowEvent(node.lineno, "sets", self._text(given.value), given.way == "adds" or _names_it(given.value))
        elif _names_it(node) or any(self._runs(part) for part in ast.walk(node)):
            yield FlowEvent(node.lineno, "reads")

    def _given_by(self, node: ast.AST) -> InEnviron | None:
        """How XLA_FLAGS is set there."""
        return {one.name: one for one in self._names.in_environ(node)}.get(FLAGS)

    def _is_only_where_unset(self, node: ast.If) -> bool:
        """Whether it is asked for, and set where it is not there."""
        inside = (part for statement in node.body for part in ast.walk(statement))
        return self._names.asks_whether_unset(node.test, FLAGS) and any(map(self._given_by, inside))

    def _text(self, node: ast.expr) -> str:
        """What an expression says, with a hole for what is not known."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self._text, node.values))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._text(node.left) + self._text(node.right)
        if isinstance(node, ast.Name) and node.id in self._given:
            return self._text(self._given[node.id])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            members = node.args[0] if node.args else node
            if isinstance(members, (ast.List, ast.Tuple)):
                return self._text(node.func.value).join(map(self._text, members.elts))
        return HOLE

    def _runs(self, node: ast.AST) -> bool:
        """Whether it is a call that may run a program with JAX in it."""
        if not isinstance(node, ast.Call):
            return False
        first, dot, rest = ast.unparse(node.func).partition(".")
        module = self._names.imported.get(first, "")
        called = f"{module or first}{dot}{rest}" if module or not dot else ""
        on_text = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
        return not (on_text or is_call_without_jax(called))


def _ways(node: ast.stmt) -> list[list[ast.stmt]]:
    """What is done in one case or the other; nothing for a statement that has no parts."""
    if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        return [node.body, node.orelse]
    if isinstance(node, ast.Try):
        return [[*node.body, *node.orelse], *(handler.body for handler in node.handlers)]
    return [case.body for case in node.cases] if isinstance(node, ast.Match) else []


def _names_it(node: ast.AST) -> bool:
    return any(text_in(part) == FLAGS for part in ast.walk(node))
