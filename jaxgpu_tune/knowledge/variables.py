"""The variables of NCCL and CUDA (``data/variables.toml``): what they can read, and what a misspelt name probably means."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal

from ..values import Value
from ..wording import nearest
from .tables import read_table

__all__ = [
    "VariableSpec",
    "decides_code",
    "instead_of",
    "is_read",
    "is_setting",
    "is_spelt",
    "misspelt",
    "program_of",
    "spellings",
    "unread",
    "variable",
]

NEAR = 0.88
"""How alike two names are of which one is the other misspelt: NCCL_NVLS_ENABLED, CUDA_DEVICE_MAX_CONNECTION."""


class VariableSpec(Value):
    """What one variable can read. ``values``: the words, or members of a list; ``lowest``, ``highest``: of a number.

    ``any_case``: the reader takes the words in any case.
    """

    name: str
    reads: Literal["number", "list", "word"]
    values: tuple[str, ...] = ()
    lowest: int | None = None
    highest: int | None = None
    any_case: bool = False


def variable(name: str) -> VariableSpec | None:
    """What is known of a variable's values; None: nothing."""
    return _specs().get(name)


def is_read(name: str) -> bool:
    """Whether a library is known to read a variable of this name."""
    return any(name in names for names in _known().values())


def is_spelt(name: str) -> bool:
    """Whether a name is known in its family, whoever reads it."""
    return any(name in names for names in spellings().values())


def is_setting(name: str) -> bool:
    """False for what only tells of an image, as NCCL_VERSION does in NVIDIA's: no library reads it."""
    return name not in read_table("variables")["not_settings"]


def decides_code(name: str) -> bool:
    """Whether a variable decides which code runs, such as PATH, PYTHONPATH and LD_PRELOAD, or names a library to load."""
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in read_table("variables")["decides_code"])


def instead_of(name: str) -> str | None:
    """The variable that jaxlib reads, of a name that it does not read though it looks as if."""
    found: str | None = read_table("variables")["instead"].get(name)
    return found


def program_of(name: str) -> str | None:
    """The programs, other than libraries that JAX uses, that are known to read a variable."""
    found: str | None = read_table("variables")["programs"].get(name)
    return found or _other_program(name)


def _other_program(name: str) -> str | None:
    from fnmatch import fnmatchcase

    others: dict[str, str] = read_table("variables")["others"]
    return next((who for names, who in others.items() if fnmatchcase(name, names)), None)


def unread(name: str) -> str | None:
    """What to do instead of setting a variable that looks as if jax read it; None: nothing is known of it."""
    found: str | None = read_table("variables")["nobody"].get(name)
    return found


def misspelt(name: str, beside: Iterable[str] = ()) -> str | None:
    """The variable that was probably meant by a name that nobody is known to read. ``beside``: names that are known too."""
    prefix = next((prefix for prefix in spellings() if name.upper().startswith(prefix)), "")
    if not prefix or not is_setting(name) or program_of(name):
        return None
    known = spellings()[prefix].union(beside)
    if name in known:
        return None
    return nearest(name.upper(), known, NEAR)


@cache
def spellings() -> dict[str, frozenset[str]]:
    """How names of each family are spelt, by their prefix: those that are read, and those that are only known."""
    beside = _spelt("beside")
    return {prefix: names | beside.get(prefix, frozenset()) for prefix, names in {**beside, **_known()}.items()}


@cache
def _known() -> dict[str, frozenset[str]]:
    return _spelt("known")


def _spelt(table: str) -> dict[str, frozenset[str]]:
    names: dict[str, str] = read_table("variables")[table]
    return {prefix: frozenset(prefix + name for name in listed.split()) for prefix, listed in names.items()}


@cache
def _specs() -> dict[str, VariableSpec]:
    entries: list[dict[str, Any]] = read_table("variables")["variable"]
    return {spec.name: spec for entry in entries for spec in _of_entry(entry)}


def _of_entry(entry: dict[str, Any]) -> tuple[VariableSpec, ...]:
    bounds = {key: entry[key] for key in ("lowest", "highest", "any_case") if key in entry}
    values = tuple(entry.get("values", ()))
    return tuple(
        VariableSpec(entry["prefix"] + name, entry["reads"], values, **bounds) for name in entry["names"].split()
    )
