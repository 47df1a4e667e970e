"""What Python sets: assigned to the environment in any form, through names, sums, joins and f-strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from ..xla_flags.grammar import FLAGS
from .literals import literals
from .mapped import Mapped, Site, as_it_stands
from .python_nodes import every_node, line_begins, parsed
from .shell import command_sites

__all__ = ["python_sites"]

TRIMS = ("strip", "lstrip", "rstrip", "replace")
"""Methods after which flags are still the flags that they were."""
SHELLS = frozenset({"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"})
"""The calls that hand a text to a shell; others do with ``shell=True``."""
READERS = frozenset({"get", "getenv", "pop"})
SETTERS = frozenset({"setdefault", "putenv", "setenv", "setitem", "__setitem__"})
"""The calls that set a variable; with flags as second argument any call does that is not known to read it."""


def python_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every place that sets the variable, and the values of the names that are used there.

    Raises SyntaxError for what is no Python.
    """
    finder = _Finder(text, name)
    yield from finder.sites()
    yield from finder.commands() if name in text else ()


class _Finder:
    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._nodes = every_node(parsed(text))
        self._begins = line_begins(text)

    def sites(self) -> Iterator[Site]:
        pending = [value for node in self._nodes for value in _values(node, self._name)]
        names: set[str] = set()
        seen: set[tuple[int, int]] = set()
        while pending:
            expression = pending.pop(0)
            if (place := self._span(expression)) in seen:
                continue
            seen.add(place)
            fresh = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)} - names
            names |= fresh
            held = list(self._held(fresh, fresh & _put_into_text(expression)))
            # a name stands for what it is assigned, which is a place of its own
            yield from (self._site(part) for part in _parts(expression) if not (held and isinstance(part, ast.Name)))
            pending += held

    def commands(self) -> Iterator[Site]:
        """What the texts set that are run by a shell."""
        instead = f"Set os.environ[{self._name!r}] in the program itself, before JAX is used."
        for node in self._nodes:
            if isinstance(node, ast.Call) and node.args and _runs_shell(node) and _is_text(node.args[0]):
                yield from command_sites(self._whole(node.args[0]), self._name, instead)

    def _whole(self, node: ast.expr) -> Mapped:
        """A text with the places of all its characters, empty where they cannot be told. Only of one literal it can be said how to write there."""
        try:
            pieces = list(self._literals(node))
        except _Unclear:
            return Mapped("", (), Mapped.hole().encode)
        return Mapped.joined(pieces, pieces[0].encode if len(pieces) == 1 else Mapped.hole().encode)

    def _held(self, names: set[str], put_in: set[str]) -> Iterator[ast.expr]:
        """What the names are assigned. Of those put into a text only what may be flags: a part is not the whole value."""
        for node in self._nodes if names else ():
            yield from _assigned(node, names - put_in)
            yield from (value for value in _assigned(node, put_in) if self._name == FLAGS and _may_be_flags(value))

    def _site(self, expression: ast.expr) -> Site:
        try:
            pieces = tuple(self._pieces(expression))
        except _Unclear as why:
            return Site(self._span(expression)[0], unsure=str(why))
        return Site(self._span(expression)[0], pieces)

    def _pieces(self, node: ast.expr) -> Iterator[Mapped]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self._pieces(node.left)
            yield from self._pieces(node.right)
        elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield from self._literals(node)
        elif (number := _number_in(node)) is not None:
            start, end = self._span(number)
            yield as_it_stands(self._text[start:end], start)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            yield from self._template(node.left, r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
        elif (trimmed := _receiver(node, TRIMS)) is not None:
            yield from self._pieces(trimmed)
        elif (template := _receiver(node, ("format",))) is not None and _is_text(template):
            yield from self._template(template, r"\{[^{}]*\}")
        else:
            yield Mapped.hole()

    def _literals(self, node: ast.expr) -> Iterator[Mapped]:
        start, end = self._span(node)
        source = as_it_stands(self._text[start:end], start)
        found = list(literals(source))
        value = node.value if isinstance(node, ast.Constant) else None
        if value is not None and "".join(piece.text for piece in found) != value:
            raise _Unclear("the text cannot be read back from its quotes")
        yield from found

    def _template(self, node: ast.expr, blank: str) -> Iterator[Mapped]:
        """What ``%`` or ``format`` fills in is not known; what they read as escapes makes the text unclear."""
        for piece in self._literals(node):
            yield from piece.parts(re.compile(blank))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._at(node.lineno, node.col_offset), self._at(last, column)

    def _at(self, line: int, column: int) -> int:
        """ast counts bytes."""
        begin = self._begins[line - 1]
        return begin + len(self._text[begin : begin + column].encode()[:column].decode())


def _runs_shell(call: ast.Call) -> bool:
    """Whether the first argument is a command of the shell's."""
    asked = any(one.arg == "shell" and getattr(one.value, "value", False) is True for one in call.keywords)
    return asked or _called(call) in SHELLS


class _Unclear(Exception):
    pass


def _values(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """The expressions that a node sets the variable to."""
    yield from _given_to(node, lambda target: _is_variable(target, name))
    yield from (value for value in _options(node, name) if not _is_none(value))
    if isinstance(node, ast.Dict):
        yield from (value for key, value in zip(node.keys, node.values, strict=True) if key and _is_name(key, name))
    elif isinstance(node, ast.Call):
        yield from (word.value for word in node.keywords if word.arg == name)
        sets = _called(node) not in READERS if name == FLAGS else _called(node) in SETTERS
        if len(node.args) > 1 and _is_name(node.args[0], name) and sets:
            yield node.args[1]


def _options(node: ast.AST, option: str) -> Iterator[ast.expr]:
    """What ``jax.config.update("jax_x", value)`` and ``jax.config.jax_x = value`` set."""
    yield from _given_to(node, lambda target: isinstance(target, ast.Attribute) and target.attr == option)
    if (
        isinstance(node, ast.Call)
        and _called(node) == "update"
        and len(node.args) > 1
        and _is_name(node.args[0], option)
    ):
        yield node.args[1]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _assigned(node: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    """The values of variables of those names, and what is appended to them."""
    yield from _given_to(node, lambda target: isinstance(target, ast.Name) and target.id in names)
    of = _receiver(node, ("append", "extend", "insert"))
    if isinstance(node, ast.Call) and isinstance(of, ast.Name) and of.id in names:
        yield from node.args[-1:]


def _given_to(node: ast.AST, is_meant: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    """The value of an assignment of any form, once for each of its targets that is meant."""
    if isinstance(node, ast.Assign):
        yield from (node.value for target in node.targets if is_meant(target))
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None and is_meant(node.target):
        adds = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and _is_text(node.value)
        yield _behind_what_is_there(node.value) if adds else node.value


def _behind_what_is_there(text: ast.expr) -> ast.expr:
    """``None + text`` for what ``+=`` adds, where None stands for what is not known."""
    return ast.copy_location(ast.BinOp(ast.copy_location(ast.Constant(None), text), ast.Add(), text), text)


def _called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _put_into_text(expression: ast.expr) -> set[str]:
    """The names whose values an f-string, ``%`` or ``format`` puts into a text."""
    fills: list[ast.AST] = []
    for node in ast.walk(expression):
        if isinstance(node, ast.FormattedValue):
            fills.append(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            fills.append(node.right)
        elif isinstance(node, ast.Call) and (template := _receiver(node, ("format",))) and _is_text(template):
            fills += [*node.args, *node.keywords]
    return {node.id for fill in fills for node in ast.walk(fill) if isinstance(node, ast.Name)}


def _may_be_flags(value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant):
        return True
    return isinstance(value.value, str) and value.value.lstrip().startswith("-")


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """What stands for itself: the members of a list, both ways of a choice, what join puts together."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for member in node.elts:
            yield from _parts(member)
    elif isinstance(node, ast.IfExp):
        yield from _parts(node.body)
        yield from _parts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _parts(value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and any(map(_is_list, (node.left, node.right))):
        yield from _parts(node.left)
        yield from _parts(node.right)
    elif isinstance(node, ast.Call) and _receiver(node, ("join",)) and node.args:
        yield from _parts(node.args[0])
    else:
        yield node


def _is_list(node: ast.expr) -> bool:
    return _receiver(node, ("join",)) is not None or isinstance(node, (ast.List, ast.Tuple))


def _is_variable(target: ast.expr, name: str) -> bool:
    """The variable in the environment; a name of the program that is called so holds flags, and of other variables anything."""
    if isinstance(target, ast.Subscript):
        return _is_name(target.slice, name)
    return isinstance(target, ast.Name) and target.id == name == FLAGS


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def _number_in(node: ast.expr) -> ast.expr | None:
    """A number or a bool as it is written, or ``str()`` of one."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and len(node.args) == 1:
        node = node.args[0]
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float, bool)
    return node if is_number else None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _receiver(node: ast.AST, methods: tuple[str, ...]) -> ast.expr | None:
    """What one of the methods is called on: ``x`` of ``x.strip()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
        return node.func.value
    return None
