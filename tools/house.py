"""How the package is built: ``python -m tools.house [--root CHECKOUT]``.

Lines of code without docstrings, comments and blank lines; the longest function and file; names that several modules have; rooms of
``planning`` (its folders and its own modules); a circle of imports, at the top of modules or anywhere.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold code."""
    said = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = {line for one in tokens if one.type not in SILENT for line in range(one.start[0], one.end[0] + 1)}
    return used - said


def function_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without those of its docstring."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return whole - ((first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0)


def functions_of(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module."""
    return [node for node in ast.walk(parsed(text)) if isinstance(node, FUNCTIONS[:2])]


def names_of(root: Path) -> dict[str, Path]:
    """Each module of the package in that folder, by its name below the package; the package itself is empty."""
    package = root / "jaxgpu_tune"
    found = {path.relative_to(package).with_suffix("").parts: path for path in package.rglob("*.py")}
    return {".".join(parts).removesuffix("__init__").removesuffix("."): path for parts, path in found.items()}


parsed = cache(ast.parse)


def imported(name: str, path: Path, known: Mapping[str, Path], *, later: bool) -> Iterator[str]:
    """The modules of the package that one imports at its top; ``later``: inside its functions, too. Types alone do not count."""
    folder = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in statements(parsed(path.read_text()), later=later):
        if isinstance(node, ast.Import):
            names = (alias.name.removeprefix("jaxgpu_tune.") for alias in node.names)
            yield from (one for one in names if one in known)
        elif isinstance(node, ast.ImportFrom):
            yield from targets(node, [part for part in folder if part], known)


def statements(inside: ast.AST, *, later: bool) -> Iterator[ast.AST]:
    """All that run when a module is imported; ``later``: those of its functions, too. No expression, as none imports."""
    for node in ast.iter_child_nodes(inside):
        types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if not (types or isinstance(node, ast.expr) or (isinstance(node, FUNCTIONS) and not later)):
            yield node
            yield from statements(node, later=later)


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


def main(arguments: list[str]) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout that is looked at")
    root = parser.parse_args(arguments).root
    known = names_of(root)
    texts = [path.read_text(encoding="utf-8") for path in known.values()]
    names = Counter(path.stem for path in known.values() if path.stem not in {"__init__", "__main__"})
    planning = {name.split(".")[1] for name in known if name.startswith("planning.")}
    folders = sum((root / "jaxgpu_tune" / "planning" / name).is_dir() for name in planning)
    longest = max(function_lines(one) for text in texts for one in functions_of(text))
    print(f"modules: {len(known)}; lines of code: {sum(len(code_lines(text)) for text in texts)}")
    print(f"longest function: {longest} lines; longest file: {max(text.count(chr(10)) for text in texts)}")
    print(f"names that several modules have: {sum(count > 1 for count in names.values())}")
    print(f"planning: {folders} folders, {len(planning) - folders} modules beside them")
    for where, later in (("at the top of modules", False), ("in functions, too", True)):
        print(f"a circle of imports {where}: {' to '.join(circle(graph(root, later=later))) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
