"""What a file sets in the place of the GPUs that a scheduler has assigned (https://github.com/ray-project/ray/pull/58322)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ...model import Finding
from ..settings.setting_names import VISIBLE
from .mapped import line_of, line_start
from .python_nodes import every_node, imported_names, parsed
from .variables_set import SetHere

__all__ = ["instead_of_assigned"]

ASKS_FOR_GPUS = re.compile(r"(?m)^[ \t]*#(?:SBATCH|PBS|BSUB|\$)[ \t].*?(?:gpu|[ \t]-G[ \t]*\d)")
"""A batch job to which a scheduler assigns GPUs."""
BATCH = (
    "{name} takes the place of the GPUs that the scheduler assigns to this job: where those of other jobs are not hidden, it uses theirs.",
    "Leave it out: the scheduler sets it.",
)
RAY = (
    "{name} is set in a function of a program that uses Ray: it takes the place of the GPUs that Ray gives a worker, so that several may share one GPU while others idle.",
    "Leave it out: Ray sets it in each worker, and JAX counts what is left from 0.",
)


def instead_of_assigned(text: str, kind: str, variables: Iterable[SetHere]) -> Iterator[tuple[int, Finding]]:
    """(where, what) of each such setting. What hides every GPU is meant; so is one command of a job that is given its share.

    Raises SyntaxError for what is no Python.
    """
    here = [one for one in variables if one.name == VISIBLE and one.value != "" and not one.lost]
    if kind == "shell" and ASKS_FOR_GPUS.search(text):
        told = [one for one in here if one.value is not None and one.part >= 0]
        yield from ((one.at, _finding(BATCH, one)) for one in told)
    elif kind == "python" and here:
        lines = _in_functions(parsed(text))
        inside = [one for one in here if line_of(text, one.at) in lines and not _keeps(text, one.at)]
        yield from ((one.at, _finding(RAY, one)) for one in inside)


def _finding(said: tuple[str, str], one: SetHere) -> Finding:
    message, hint = said
    named = VISIBLE if one.value is None else f"{VISIBLE}={one.value}"
    return Finding("instead-of-assigned", "warning", message.format(name=named), hint)


def _in_functions(tree: ast.Module) -> frozenset[int]:
    """The lines of the functions of a program that imports Ray."""
    modules = {full.split(".")[0] for _, full in imported_names(tree)}
    functions = (node for node in every_node(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    spans = (range(one.lineno, (one.end_lineno or one.lineno) + 1) for one in functions)
    return frozenset(line for span in spans for line in span) if "ray" in modules else frozenset()


def _keeps(text: str, at: int) -> bool:
    """Whether the line sets it by what it was, or only where nothing has."""
    line = text[line_start(text, at) :].partition("\n")[0]
    return line.count(VISIBLE) > 1 or "setdefault" in line
