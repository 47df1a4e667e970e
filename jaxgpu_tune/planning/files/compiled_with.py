"""Flags that Python hands to the compiler of one function: ``compiler_options={…}`` of ``jax.jit`` and of ``compile()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...values import Value
from ...wording import setting_text, written
from .python_nodes import every_node, parsed

__all__ = ["CompiledWith", "compiled_with"]


LEVELS = {"9": "O0", "19": "O1", "29": "O2", "39": "O3"}
"""The numbers by which jit takes them, alone up to jax 0.11.0."""
OTHERS = ("optimization_level", "exec_time_optimization_effort")
"""What sets flags by itself."""


class CompiledWith(Value):
    """One option: its line, its name, and its value as a flag has it; None: known only when the program runs."""

    line: int
    name: str
    value: str | None

    @property
    def is_flag(self) -> bool:
        """Whether it is one of XLA_FLAGS; else a level, of which jax.config has one for all functions."""
        return self.name.startswith("xla_")

    @property
    def variable(self) -> tuple[str, str]:
        """Name and value of the variable that sets a level for all functions."""
        return f"JAX_{self.name.upper()}", LEVELS.get(self.value or "", self.value or "")

    @property
    def flag(self) -> str:
        """The same as a flag of XLA_FLAGS; a value that is not known is any."""
        return written("xla_flag", self.name, "x" if self.value is None else self.value)


def compiled_with(source: str) -> Iterator[tuple[CompiledWith, ...]]:
    """The flags of each place, written there or under a name that is given one map in the file. Raises SyntaxError for what is no Python."""
    tree = parsed(source)
    maps: dict[str, list[ast.expr]] = {}
    for node in every_node(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            maps.setdefault(node.targets[0].id, []).append(node.value)
    for node in every_node(tree):
        if isinstance(node, ast.keyword) and node.arg == "compiler_options":
            given = maps.get(node.value.id, []) if isinstance(node.value, ast.Name) else [node.value]
            yield tuple(_options(given[0])) if len(given) == 1 else ()


def _options(node: ast.expr) -> Iterator[CompiledWith]:
    pairs: list[tuple[int, object, ast.expr]] = []
    if isinstance(node, ast.Dict):
        keys = (
            (key, value) for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)
        )
        pairs = [(key.lineno, key.value, value) for key, value in keys]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
        pairs = [(word.value.lineno, word.arg, word.value) for word in node.keywords]
    for line, name, value in pairs:
        if str(name).startswith("xla_") or name in OTHERS:
            text = setting_text(value.value) if isinstance(value, ast.Constant) else None
            yield CompiledWith(line, str(name), text)
