"""The names of a Python program in full, and what sets the environment by them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from ...knowledge.real_names import calls
from ...values import Value
from ..xla_flags.grammar import FLAGS
from .python_nodes import bound_name, every_node, imported_names, text_in

__all__ = ["InEnviron", "Names"]

Way = Literal["", "adds", "unless"]


class InEnviron(Value):
    """A variable that is set there. ``way``: "adds" to what was there, or acts only "unless" something was; ``by``: the call of a library that sets XLA_FLAGS."""

    name: str
    value: ast.expr
    way: Way = ""
    by: str = ""


class Names:
    """By what a program imports."""

    def __init__(self, tree: ast.Module) -> None:
        self.imported = dict(imported_names(tree))
        self._own = {name for name in map(bound_name, every_node(tree)) if name}

    def full(self, node: ast.AST) -> str:
        """``jax.numpy.ones`` for ``jnp.ones``; empty for what is not imported."""
        if isinstance(node, ast.Name):
            return self.imported.get(node.id, "")
        if isinstance(node, ast.Attribute):
            before = self.full(node.value)
            return f"{before}.{node.attr}" if before else ""
        return ""

    def in_environ(self, node: ast.AST) -> Iterator[InEnviron]:
        """What a node sets, whatever stands inside it."""
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr) and self._is_environ(node.target):
            yield from _in_map(node.value)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            way: Way = "adds" if isinstance(node, ast.AugAssign) else ""
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Subscript) and self._is_environ(target.value):
                    yield InEnviron(text_in(target.slice), node.value, way)
        elif isinstance(node, ast.Call):
            yield from self._called(node)

    def asks_whether_unset(self, test: ast.expr, name: str) -> bool:
        """``"NAME" not in os.environ``."""
        if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn)):
            return False
        return text_in(test.left) == name and self._is_environ(test.comparators[0])

    def _called(self, call: ast.Call) -> Iterator[InEnviron]:
        on_environ = isinstance(call.func, ast.Attribute) and self._is_environ(call.func.value)
        called = getattr(call.func, "attr", "") if on_environ else self.full(call.func)
        if called == "update" and on_environ:
            yield from (InEnviron(word.arg or "", word.value) for word in call.keywords)
            yield from (one for given in call.args for one in _in_map(given))
        elif called in ("__setitem__", "setdefault", "os.putenv") and len(call.args) > 1:
            yield InEnviron(text_in(call.args[0]), call.args[1], "unless" if called == "setdefault" else "")
        elif called in calls("set_xla_flags"):
            yield InEnviron(FLAGS, call, "adds", f"{ast.unparse(call.func)}()")

    def _is_environ(self, node: ast.AST) -> bool:
        """Also where its import is not seen, as by a star; not a map that the program calls so."""
        name = self.full(node) or ast.unparse(node)
        return name == "os.environ" or (name == "environ" and name not in self._own)


def _in_map(node: ast.expr) -> Iterator[InEnviron]:
    if isinstance(node, ast.Dict):
        yield from (InEnviron(text_in(key), value) for key, value in zip(node.keys, node.values, strict=True) if key)
