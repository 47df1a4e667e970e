"""Families of variables: who reads them and what they act on; and where launchers tell a process its place (``data/variables.toml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from ..values import Value
from .tables import read_table, with_tuples

__all__ = ["ACTS", "Family", "Launcher", "acts", "families", "family_of", "launchers"]

Act = Literal["told", "gpu", "tunes", "hidden", "public", "exact", "import", "start", "profiles"]

ACTS: tuple[Act, ...] = ("told", "gpu", "tunes", "hidden", "public", "exact", "import", "start", "profiles")
"""What a family can do; the head of the table says what each means."""


class Family(Value):
    """One record: ``starts``: how its names begin; ``names``: whole ones; ``reader``: half a sentence on who reads them."""

    owner: str
    reader: str
    acts: tuple[Act, ...]
    starts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Launcher(Value):
    """The variables of a process's ``rank``, the ``count`` of processes, and the same on its host; the first that is set counts."""

    name: str
    rank: tuple[str, ...]
    count: tuple[str, ...]
    local_rank: tuple[str, ...] = ()
    local_count: tuple[str, ...] = ()


def acts(name: str, how: Act) -> bool:
    """Whether a variable is of a family that acts so; one of no family does not."""
    family = family_of(name)
    return family is not None and how in family.acts


@cache
def family_of(name: str) -> Family | None:
    """The family of a variable: of a whole name before that of the longest beginning; None: of none."""
    fits = [(length, at) for at, family in enumerate(families()) if (length := _fit(name, family))]
    return families()[max(fits)[1]] if fits else None


def _fit(name: str, family: Family) -> int:
    """How much of the name says that it is of this family, in characters; more than all where it is named as a whole."""
    if name in family.names:
        return len(name) + 1
    return max((len(start) for start in family.starts if name.startswith(start)), default=0)


@cache
def families() -> tuple[Family, ...]:
    """Every family, in the file's order."""
    return tuple(Family(**with_tuples(table)) for table in read_table("variables")["family"])


@cache
def launchers() -> Mapping[str, Launcher]:
    """Every launcher by its name."""
    tables = read_table("variables")["launcher"]
    return {table["name"]: Launcher(**with_tuples(table)) for table in tables}
