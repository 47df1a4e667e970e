"""Where a Python program gives XLA_FLAGS another text, whatever was in it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ..xla_flags.grammar import FLAGS
from .late_settings import late_settings
from .python_nodes import way_over, what_runs

__all__ = ["Replaced", "replaced_in"]


class Replaced(NamedTuple):
    """The line that does so, and the new text."""

    line: int
    text: str


def replaced_in(source: str) -> Replaced | None:
    """Of the lines outside all functions and conditions that assign it before JAX has started, the last, if it does so.

    None also for what is no Python.
    """
    try:
        late = {one.line for one in late_settings(source) if one.name == FLAGS and not one.way}
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last ones of what is nested deeply
        return None
    assigned = (one for one in statements if isinstance(one, ast.Assign) and any(map(_is_variable, one.targets)))
    read = [(one.lineno, one.value) for one in assigned if one.lineno not in late]
    line, value = read[-1] if read else (0, None)
    return Replaced(line, _text(value)) if value and way_over(value) else None


def _is_variable(target: ast.expr) -> bool:
    if not (isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)):
        return False
    return target.slice.value == FLAGS and ast.unparse(target.value).rpartition(".")[2] == "environ"


def _text(value: ast.expr) -> str:
    return "".join(str(part.value) for part in what_runs(value) if isinstance(part, ast.Constant))
