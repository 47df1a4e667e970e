"""Where a Python program gives a variable another text, whatever was in it."""

from __future__ import annotations

import ast

from ..xla_flags.grammar import FLAGS
from .python_nodes import in_environ, way_over

__all__ = ["replaced_at"]


def replaced_at(source: str, name: str = FLAGS) -> int | None:
    """The line that does so each time the program starts: outside all functions and conditions. None: no line does, or it is no Python."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    lines = (
        one.lineno
        for one in statements
        if isinstance(one, ast.Assign)
        and way_over(one.value)
        and any(in_environ(target, name) for target in one.targets)
    )
    return next(lines, None)
