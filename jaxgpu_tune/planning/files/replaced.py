"""Where a Python program gives a variable another text, whatever was in it; or only where there was none."""

from __future__ import annotations

import ast

from ...knowledge.real_names import calls
from ..xla_flags.grammar import FLAGS
from .python_nodes import in_environ, way_over

__all__ = ["passed_over_at", "replaced_at"]


def replaced_at(source: str, name: str = FLAGS) -> int | None:
    """The line that does so each time the program starts: outside all functions and conditions. None: no line does, or it is no Python."""
    lines = (
        one.lineno
        for one in _statements(source)
        if isinstance(one, ast.Assign)
        and way_over(one.value)
        and any(in_environ(target, name) for target in one.targets)
    )
    return next(lines, None)


def passed_over_at(source: str, name: str = FLAGS) -> int | None:
    """The line, as above, of what acts only where the variable is not set: ``if "XLA_FLAGS" not in os.environ``, ``setdefault``."""
    return next((one.lineno for one in _statements(source) if _is_only_where_unset(one, name)), None)


def _is_only_where_unset(statement: ast.stmt, name: str) -> bool:
    said = ast.unparse(statement).replace("os.environ", "environ")
    if not isinstance(statement, ast.If):
        return said.startswith(f"environ.setdefault({name!r}")
    asked, _, done = said.partition("\n")
    setters = (f"[{name!r}] = ", *(one.rpartition(".")[2] for one in calls("set_xla_flags")))
    return asked == f"if {name!r} not in environ:" and any(setter in done for setter in setters)


def _statements(source: str) -> list[ast.stmt]:
    """Those outside of all others; none of what is no Python."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return []
