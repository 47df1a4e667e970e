"""Planning is pure: it goes from values to values, and no module of it has a way out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PLANNING = Path(__file__).resolve().parent.parent / "jaxgpu_tune" / "planning"

_TEXTS = {"ast", "bisect", "collections", "difflib", "json", "re", "shlex", "unicodedata"}
PURE = {"__future__", "functools", "itertools", "types", "typing", "typing_extensions", *_TEXTS}
"""What of the standard library planning may import: it only computes."""
PURE_OF_OS = {
    *("os.PathLike", "os.fspath", "os.pathsep", "os.sep"),
    *(f"os.path.{name}" for name in ("basename", "dirname", "isabs", "join", "normpath", "split", "splitext")),
}
OUTWARD = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
"""Builtins by which a module reads or writes, or brings in another unseen."""
READERS = {"load_preset_file", "read_toml"}
"""The functions of ``knowledge`` that read files of the user's."""


def ways_out(code: str) -> Iterator[str]:
    """The names by which a module could learn of the world, or change it, other than through what it is handed."""
    tree = ast.parse(code)
    chains = {id(node.value): node for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    systems = {"os"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            systems |= {alias.asname for alias in node.names if alias.name == "os" and alias.asname}
            yield from (name for alias in node.names if (name := alias.name.partition(".")[0]) not in {*PURE, "os"})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = (node.module or "").partition(".")[0]
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in named if name not in PURE_OF_OS) if module == "os" else {module} - PURE
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        name = node.name if isinstance(node, ast.alias) else name
        if name in READERS or (isinstance(node, ast.Name) and name in OUTWARD):
            yield name
        elif isinstance(node, ast.Name) and name in systems:
            yield from _beyond(node, chains)


def _beyond(node: ast.expr, chains: dict[int, ast.Attribute]) -> Iterator[str]:
    """What is taken of ``os`` there, unless it only computes."""
    taken = "os"
    while taken not in PURE_OF_OS and id(node) in chains:
        node = chains[id(node)]
        taken += f".{node.attr}"
    if taken not in PURE_OF_OS:
        yield taken


@pytest.mark.parametrize("path", sorted(PLANNING.rglob("*.py")), ids=lambda path: path.stem)
def test_planning_has_no_way_out(path: Path) -> None:
    """It goes from values to values: no environment, no file, no clock, no other process."""
    assert sorted(ways_out(path.read_text())) == []


@pytest.mark.parametrize(
    ("code", "way"),
    [
        ("import os\nos.environ['A']", "os.environ"),
        ("import os as system\nsystem.path.expanduser('~')", "os.path.expanduser"),
        ("import os.path\nos.path.abspath('a')", "os.path.abspath"),
        ("import os\nf = os.path", "os.path"),
        ("import os\ngetattr(os, 'environ')", "os"),
        ("import os, re\ndef f():\n    return os.getcwd()", "os.getcwd"),
        ("from os import environ as e", "os.environ"),
        ("from os.path import join, isfile", "os.path.isfile"),
        ("from os import path", "os.path"),
        ("from os import *", "os.*"),
        ("open('a')", "open"),
        ("read = open", "open"),
        ("__import__('os')", "__import__"),
        *((f"import {name}", name) for name in ("pathlib", "posixpath", "socket", "subprocess", "time", "sys", "io")),
        ("def f():\n    from importlib import resources", "importlib"),
        ("from datetime import datetime", "datetime"),
        ("from ..knowledge.presets import load_preset_file", "load_preset_file"),
        ("from ..knowledge import tables\ntables.read_toml('a')", "read_toml"),
    ],
)
def test_the_test_of_ways_out_can_fail(code: str, way: str) -> None:
    """Each kind of way is seen, by whatever name it goes and however deep it stands."""
    assert set(ways_out(code)) == {way}


def test_what_only_computes_is_no_way_out() -> None:
    code = (
        "import json, os, re\nfrom os.path import join\nos.path.splitext(os.fspath(os.sep.join('ab')))\nre.compile('a')"
    )
    assert set(ways_out(code)) == set()
