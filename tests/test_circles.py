"""No module of the package needs one that needs it: neither when it is imported nor, but for the named cases, when it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
TYPES = "if TYPE_CHECKING:"
LATER = {
    ("machine", "machine_file"): "Machine.from_dict() checks what it is given, which names the values themselves",
    ("machine", "render.html"): "what notebooks show renders inside the method",
    ("model", "render.html"): "what notebooks show renders inside the method",
    ("model", "render.text"): "str(report) renders inside the method",
    ("model", "session"): "report.restore() plans what is left of the calls inside the method",
}
"""Imports inside functions that go in a circle, and why: the values that everything is made of show themselves."""


def names_of(root: Path) -> dict[str, Path]:
    """Each module of the package in that folder, by its name below the package; the package itself is empty."""
    package = root / "jaxgpu_tune"
    found = {path.relative_to(package).with_suffix("").parts: path for path in package.rglob("*.py")}
    return {".".join(parts).removesuffix("__init__").removesuffix("."): path for parts, path in found.items()}


parsed = cache(ast.parse)


def imported(name: str, path: Path, known: Mapping[str, Path], *, later: bool) -> Iterator[str]:
    """The modules of the package that one imports at its top; ``later``: inside its functions, too. Types alone do not count."""
    tree = parsed(path.read_text())
    skipped = [one for one in ast.walk(tree) if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.dump(one.test)]
    skipped += [] if later else [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]
    inside = {id(part) for one in skipped for part in ast.walk(one)}
    folder = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in inside:
            names = (alias.name.removeprefix("jaxgpu_tune.") for alias in node.names)
            yield from (one for one in names if one in known)
        elif isinstance(node, ast.ImportFrom) and id(node) not in inside:
            yield from targets(node, [part for part in folder if part], known)


def targets(node: ast.ImportFrom, folder: list[str], known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that one statement names: of ``from . import a, b`` those two, where they are modules."""
    if not node.level and (node.module or "").partition(".")[0] != "jaxgpu_tune":
        return
    above = folder[: len(folder) - node.level + 1] if node.level else []
    base = ".".join([*above, *(node.module or "").removeprefix("jaxgpu_tune").strip(".").split(".")]).strip(".")
    for alias in node.names:
        inner = f"{base}.{alias.name}".strip(".")
        yield inner if inner in known else base


@cache
def graph(root: Path, *, later: bool) -> dict[str, set[str]]:
    """What each module imports."""
    known = names_of(root)
    return {name: {*imported(name, path, known, later=later)} - {name} for name, path in known.items()}


def circle(found: Mapping[str, set[str]], but: Iterable[tuple[str, str]] = ()) -> list[str]:
    """The modules of one circle, in order, if there is any."""
    left = {name: {to for to in others if (name, to) not in but} for name, others in found.items()}
    try:
        TopologicalSorter(left).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_importing_goes_in_no_circle() -> None:
    assert circle(graph(ROOT, later=False)) == []


def test_calling_goes_in_no_circle_but_those_that_are_named() -> None:
    assert circle(graph(ROOT, later=True), LATER) == []


@pytest.mark.parametrize("one", sorted(LATER), ids=" to ".join)
def test_each_named_circle_is_there(one: tuple[str, str]) -> None:
    """One that nothing needs any more is taken off the list."""
    assert one[0] in circle(graph(ROOT, later=True), {*LATER} - {one})


@pytest.mark.parametrize(
    "line", ["from . import a", "from .a import f", "from jaxgpu_tune.inner.a import f", "from ..inner.a import f"]
)
def test_a_circle_is_seen(tmp_path: Path, line: str) -> None:
    """By whatever words; inside functions only if that is asked for, and of types alone never."""
    folder = tmp_path / "jaxgpu_tune" / "inner"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        (path / "__init__.py").write_text("")
    (folder / "a.py").write_text("from .b import g\n")
    for text, found in (
        (line, (True, True)),
        (f"def h():\n    {line}", (False, True)),
        (f"{TYPES}\n    {line}", (False, False)),
    ):
        (folder / "b.py").write_text(f"{text}\n")
        seen = [
            set(circle(graph.__wrapped__(tmp_path, later=later))) == {"inner.a", "inner.b"} for later in (False, True)
        ]
        assert tuple(seen) == found
