"""jaxlib's own reader of the memory variables, cut out of a release's xla_client.py: run on an environment, it gives the options or raises."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

READER = "generate_pjrt_gpu_plugin_options"
Reader = Callable[[Mapping[str, str]], dict[str, Any]]


def reader_in(source: str) -> Reader:
    """The reader of one release's source text."""
    (found,) = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == READER]
    found.returns = None
    code = compile(ast.Module([found], []), "xla_client.py", "exec")

    def read(environ: Mapping[str, str]) -> dict[str, Any]:
        scope: dict[str, Any] = {"os": SimpleNamespace(getenv=environ.get), "Any": Any}
        exec(code, scope)
        options: dict[str, Any] = scope[READER]()
        return options

    return read


def installed_reader() -> Reader:
    """That of the installed jaxlib, which is not imported."""
    found = importlib.util.find_spec("jaxlib")
    assert found is not None and found.origin is not None
    return reader_in(Path(found.origin).with_name("xla_client.py").read_text())
