"""How the package is built: ``python -m tools.house [--root CHECKOUT]``.

Lines of code without docstrings, comments and blank lines; the longest function and file; names that several modules have; rooms of
``planning`` (its folders and its own modules); modules that stand in a circle of imports, at their top or anywhere.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
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


def function_lines(text: str) -> int:
    """The lines of the longest function without its docstring."""
    found = [0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTIONS[:2]):
            first = node.body[0]
            said = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) else 0
            found.append((node.end_lineno or 0) - node.lineno + 1 - said)
    return max(found)


def imported(name: str, path: Path, known: Mapping[str, Path], *, later: bool) -> Iterator[str]:
    """The modules of the package that one imports at its top; ``later``: in its functions, too. Types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = [one for one in ast.walk(tree) if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.dump(one.test)]
    skipped += [] if later else [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]
    inside = {id(part) for one in skipped for part in ast.walk(one)}
    folder = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in inside:
            base = [*folder[: len(folder) - node.level + 1], *(node.module or "").split(".")]
            module = ".".join(filter(None, base))
            for alias in node.names:
                inner = f"{module}.{alias.name}".lstrip(".")
                yield from (one for one in ([inner] if inner in known else [module]) if one in known)


def in_circles(known: Mapping[str, Path], *, later: bool) -> set[str]:
    """The modules from which a way of imports leads back."""
    needs = {name: {*imported(name, path, known, later=later)} - {name} for name, path in known.items()}
    found = set()
    for name in known:
        seen, ways = set[str](), list(needs[name])
        while ways:
            one = ways.pop()
            if one not in seen:
                seen.add(one)
                ways += needs[one]
        if name in seen:
            found.add(name)
    return found


def main(arguments: list[str]) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout that is looked at")
    package = parser.parse_args(arguments).root / "jaxgpu_tune"
    paths = sorted(package.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    parts = {path: path.relative_to(package).with_suffix("").parts for path in paths}
    known = {".".join(part for part in parts[path] if part != "__init__"): path for path in paths}
    names = Counter(path.stem for path in paths if not path.stem.startswith("__"))
    planning = {parts[path][1] for path in paths if parts[path][0] == "planning" and parts[path][1] != "__init__"}
    folders = sum((package / "planning" / name).is_dir() for name in planning)
    print(f"modules: {len(paths)}; lines of code: {sum(len(code_lines(text)) for text in texts)}")
    print(
        f"longest function: {max(map(function_lines, texts))} lines; longest file: {max(text.count(chr(10)) for text in texts)}"
    )
    print(f"names that several modules have: {sum(count > 1 for count in names.values())}")
    print(f"planning: {folders} folders, {len(planning) - folders} modules beside them")
    print(
        f"modules in a circle of imports: {len(in_circles(known, later=False))} at the top, {len(in_circles(known, later=True))} in all"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
