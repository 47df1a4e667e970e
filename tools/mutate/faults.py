"""The small changes that a slip of the hand would make: a condition turned, a bound moved, a line left out, a constant changed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TURNED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.FloorDiv: "*", ast.Mult: "//"}
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Fault(NamedTuple):
    """One change: ``text`` in place of what stands from ``start`` to ``end`` (offsets into the source)."""

    start: int
    end: int
    text: str

    def planted(self, source: str) -> str:
        """The source with the fault in it."""
        return source[: self.start] + self.text + source[self.end :]

    def is_sound(self, source: str) -> bool:
        """Whether what comes of it still is Python."""
        try:
            ast.parse(self.planted(source))
        except SyntaxError:
            return False
        return True

    def told(self, source: str) -> str:
        """Where it is and what it does, on one line."""
        line = source.count("\n", 0, self.start) + 1
        old, new = (" ".join(text.split())[:90] for text in (source[self.start : self.end], self.text))
        return f"{line}: {old} -> {new or 'nothing'}"

    def lines(self, source: str) -> int:
        """Its lines, from the first of its statement on, a bit each: a test that runs one of them may notice."""
        first, last = (source.count("\n", 0, place) + 1 for place in (self.start, max(self.start, self.end - 1)))
        around = (
            node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt) and node.lineno <= first
        )
        return (1 << last + 1) - (1 << max(around, default=first))

    def at_import(self, source: str) -> bool:
        """Whether it stands outside of all functions."""
        line = source.count("\n", 0, self.start) + 1
        functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _Function))
        return not any(node.lineno <= line <= (node.end_lineno or line) for node in functions)


def faults_of(source: str) -> list[Fault]:
    """Every fault that might be planted in a module, in the order of its lines; annotations, docstrings and messages stay."""
    tree = ast.parse(source)
    place = _Places(source)
    kept = {id(part) for node in _left_alone(tree) for part in ast.walk(node)}
    found = (fault for node in ast.walk(tree) if id(node) not in kept for fault in _of(node, place))
    return sorted({fault for fault in found if fault.text != source[fault.start : fault.end]})


class _Places:
    """Offsets of nodes in the text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line.encode()))
        self._bytes = source.encode()

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.of(node)
        return self.source[start:end]

    def _offset(self, line: int, column: int) -> int:
        return len(self._bytes[: self._lines[line - 1] + column].decode())


def _left_alone(tree: ast.Module) -> Iterator[ast.AST]:
    """What has no behaviour: annotations, docstrings, imports, ``__all__``, blocks and types for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            yield node
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
            yield node
        if isinstance(node, ast.arg) and node.annotation:
            yield node.annotation
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns:
            yield node.returns
        if isinstance(node, ast.AnnAssign):
            yield node.annotation
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node
        if isinstance(node, (ast.If, ast.Assign)) and (
            "TYPE_CHECKING" in ast.dump(node) or "__all__" in ast.dump(node)
        ):
            yield node


def _of(node: ast.AST, place: _Places) -> Iterator[Fault]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = place.text(node.left), place.text(node.comparators[0])
        yield Fault(*place.of(node), f"{left} {_TURNED[type(node.ops[0])]} {right}")
    elif isinstance(node, ast.BoolOp):
        yield Fault(*place.of(node), _joined(node, place))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield Fault(*place.of(node), place.text(node.operand))
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        yield Fault(*place.of(node.test), f"not ({place.text(node.test)})")
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        sign = _SIGNS[type(node.op)]
        yield Fault(*place.of(node), f"({place.text(node.left)}) {sign} ({place.text(node.right)})")
    elif isinstance(node, ast.Constant):
        yield from _constant(node, place)
    elif isinstance(node, ast.comprehension):
        yield from (Fault(*place.of(test), f"not ({place.text(test)})") for test in node.ifs)
    elif isinstance(node, (ast.Expr, ast.AugAssign, ast.Raise)) or (isinstance(node, ast.Return) and node.value):
        yield Fault(*place.of(node), "return None" if isinstance(node, ast.Return) else "pass")


def _joined(node: ast.BoolOp, place: _Places) -> str:
    other = " or " if isinstance(node.op, ast.And) else " and "
    return f"({other.join(f'({place.text(value)})' for value in node.values)})"


def _constant(node: ast.Constant, place: _Places) -> Iterator[Fault]:
    value = node.value
    if isinstance(value, bool):
        yield Fault(*place.of(node), str(not value))
    elif isinstance(value, (int, float)):
        yield Fault(*place.of(node), repr(value + 1))
    elif isinstance(value, str) and value and " " not in value.strip():
        yield Fault(*place.of(node), repr(value[1:]))
