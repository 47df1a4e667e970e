"""What the observer brings into the user's process."""

from __future__ import annotations

import ast
import sys

from tests.child import ROOT


def test_the_observer_imports_the_standard_library_and_the_clock_only() -> None:
    """It runs in the user's process, whose packages are not ours to import, but jax, which is there by then."""
    folder = ROOT / "jaxgpu_tune" / "measure"
    allowed = {*sys.stdlib_module_names, "jax"}
    for path in [*folder.joinpath("observer").rglob("*.py"), folder / "clock.py", folder / "__init__.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed, path
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert (node.module or "").split(".")[0] in allowed, path
            elif isinstance(node, ast.ImportFrom) and node.level == 2:
                assert node.module == "clock", path
