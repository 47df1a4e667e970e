"""Where a Python program gives a variable another text, whatever was in it; or only where there was none."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ...knowledge.real_names import calls
from ..xla_flags.grammar import FLAGS
from .late_settings import late_settings
from .python_nodes import in_environ, way_over, what_runs

__all__ = ["Replaced", "assigned_anew", "passed_over_at"]


class Replaced(NamedTuple):
    """The line that does so, and the new text."""

    line: int
    text: str


def assigned_anew(source: str) -> Replaced | None:
    """Of the lines outside all functions and conditions that assign it before JAX has started, the last, if it does so.

    None also for what is no Python.
    """
    statements = _statements(source)
    late = {one.line for one in late_settings(source) if one.name == FLAGS and not one.way} if statements else set()
    assigned = (one for one in statements if isinstance(one, ast.Assign) and any(map(_is_variable, one.targets)))
    read = [(one.lineno, one.value) for one in assigned if one.lineno not in late]
    line, value = read[-1] if read else (0, None)
    return Replaced(line, _text(value)) if value and way_over(value) else None


def _is_variable(target: ast.expr) -> bool:
    return in_environ(target, FLAGS)


def _text(value: ast.expr) -> str:
    return "".join(str(part.value) for part in what_runs(value) if isinstance(part, ast.Constant))


def passed_over_at(source: str) -> int | None:
    """The line, as above, of what acts only where the variable is not set: ``if "XLA_FLAGS" not in os.environ``, ``setdefault``."""
    return next((one.lineno for one in _statements(source) if _is_only_where_unset(one)), None)


def _is_only_where_unset(statement: ast.stmt) -> bool:
    said = ast.unparse(statement).replace("os.environ", "environ")
    if not isinstance(statement, ast.If):
        return said.startswith(f"environ.setdefault({FLAGS!r}")
    asked, _, done = said.partition("\n")
    setters = (f"[{FLAGS!r}] = ", *(one.rpartition(".")[2] for one in calls("set_xla_flags")))
    return asked == f"if {FLAGS!r} not in environ:" and any(setter in done for setter in setters)


def _statements(source: str) -> list[ast.stmt]:
    """Those outside of all others; none of what is no Python."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last ones of what is nested deeply
        return []
