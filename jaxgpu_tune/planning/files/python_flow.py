"""The order in which a Python program sets XLA_FLAGS, and what may read it in between."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from ..xla_flags.grammar import FLAGS
from .flow import FlowEvent
from .mapped import HOLE
from .python_nodes import imported_names, in_environ, parsed

__all__ = ["python_flow"]

_QUIET = frozenset({"sys", "argparse", "logging", "warnings", "pathlib", "json", "re", "math", "time", "datetime"})
_BUILTINS = frozenset(
    {
        "print",
        "len",
        "str",
        "int",
        "float",
        "bool",
        "list",
        "dict",
        "set",
        "tuple",
        "range",
        "min",
        "max",
        "open",
        "repr",
        "getattr",
        "hasattr",
        "isinstance",
        "sorted",
    }
)
_QUIET_CALLS = ("os.environ.", "os.path.", "os.getenv", "os.makedirs", "os.cpu_count", "jax.config.")
"""Modules and calls that run no program with JAX in it."""
_SETTERS = frozenset({"os.putenv", "os.environ.__setitem__"})


def python_flow(source: str, begins: Sequence[int]) -> Iterator[FlowEvent]:
    """``begins``: where in the file each line of the program begins. Raises SyntaxError for what is no Python."""
    tree = parsed(source)
    reader = _Reader(tree)
    yield from (event._replace(at=begins[event.at - 1]) for event in reader.of(tree.body))


class _Reader:
    """Its events bear the number of their line."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules = dict(imported_names(tree))
        named = Counter(filter(None, map(_bound, ast.walk(tree))))
        self._given = {
            node.targets[0].id: node.value
            for node in ast.walk(tree)
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
        for asked in (getattr(node, field, None) for field in ("test", "iter", "subject")):
            yield from self._simple(asked) if asked is not None else ()
        kinds = ("opens", *("or" for _ in ways[1:]))
        for kind, way in zip(kinds, ways, strict=True):
            yield FlowEvent(node.lineno, kind)
            yield from self.of(way)
        yield FlowEvent(node.lineno, "closes")
        yield from self.of(getattr(node, "finalbody", ()))

    def _simple(self, node: ast.stmt | ast.expr) -> Iterator[FlowEvent]:
        value = self._value(node)
        if value is not None:
            keeps = isinstance(node, ast.AugAssign) or _names_it(value)
            yield FlowEvent(node.lineno, "sets", self._text(value), keeps)
        elif _names_it(node) or any(self._runs(part) for part in ast.walk(node)):
            yield FlowEvent(node.lineno, "reads")

    def _value(self, node: ast.AST) -> ast.expr | None:
        """What XLA_FLAGS is set to by this statement."""
        if isinstance(node, ast.Assign) and any(in_environ(target, FLAGS) for target in node.targets):
            return node.value
        if isinstance(node, ast.AugAssign) and in_environ(node.target, FLAGS):
            return node.value
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return None
        pairs = [(word.arg, word.value) for word in call.keywords]
        if self._dotted(call.func) in _SETTERS and len(call.args) == 2:
            pairs = [(_constant(call.args[0]), call.args[1])]
        elif self._dotted(call.func) != "os.environ.update":
            return None
        for given in call.args:
            if isinstance(given, ast.Dict):
                pairs += [(_constant(key), value) for key, value in zip(given.keys, given.values, strict=True)]
        return dict(pairs).get(FLAGS)

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
        called = self._dotted(node.func)
        if isinstance(node.func, ast.Name) and not called:
            return node.func.id not in _BUILTINS
        on_text = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
        return not (on_text or called.split(".")[0] in _QUIET or called.startswith(_QUIET_CALLS))

    def _dotted(self, node: ast.AST) -> str:
        """The name in full of what is imported; empty for what is not."""
        first, _, rest = ast.unparse(node).partition(".")
        known = self._modules.get(first, "")
        return f"{known}.{rest}" if known and rest else known


def _bound(node: ast.AST) -> str:
    """The name that is given a value there."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def _ways(node: ast.stmt) -> list[list[ast.stmt]]:
    """What is done in one case or the other; nothing for a statement that has no parts."""
    if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        return [node.body, node.orelse]
    if isinstance(node, ast.Try):
        return [[*node.body, *node.orelse], *(handler.body for handler in node.handlers)]
    return [case.body for case in node.cases] if isinstance(node, ast.Match) else []


def _constant(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _names_it(node: ast.AST) -> bool:
    return any(_constant(part) == FLAGS for part in ast.walk(node) if isinstance(part, ast.expr))
