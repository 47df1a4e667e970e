"""What a search tries on a program, and how it treats what is known to go wrong. Authored in ``data/search.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from ..model import Setting
from ..values import EMPTY, Value
from ..wording import setting_text
from .tables import named_setting, read_table

__all__ = ["KINDS", "Candidate", "Treatment", "autotuning", "candidates", "starts", "treatment"]

Kind = Literal["collectives", "loops", "small-kernels", "convolutions", "products", "host-bound"]
Acts = Literal["program", "run"]

KINDS: tuple[Kind, ...] = ("collectives", "loops", "small-kernels", "convolutions", "products", "host-bound")
"""The kinds of program that a candidate may serve."""


class Candidate(Value):
    """Settings that are worth trying together.

    ``kinds``: the kinds of program that they may serve; ``acts``: "program" where the compiled program shows them, "run" where they act while it runs;
    ``cost``: what they take beside time; ``large``: the kinds of program in which they have changed everything, for better or worse;
    ``slow``: whether they compile for very long.
    """

    name: str
    settings: tuple[Setting, ...]
    kinds: tuple[Kind, ...]
    acts: Acts
    why: str
    source: str = ""
    cost: str = ""
    when: Mapping[str, Any] = EMPTY
    large: tuple[Kind, ...] = ()
    slow: bool = False


class Treatment(Value):
    """Codes of hazards: ``numbers`` may change results and are never tried; ``dies`` may hang or crash and are tried last."""

    numbers: frozenset[str]
    dies: frozenset[str]


@lru_cache(maxsize=1)
def candidates() -> tuple[Candidate, ...]:
    """Every candidate, the most promising first."""
    return tuple(map(_candidate, read_table("search")["candidate"]))


def starts() -> tuple[str, ...]:
    """The presets that a search begins with, where they fit."""
    return tuple(read_table("search")["starts"])


def autotuning() -> frozenset[str]:
    """Settings that choose kernels anew: they share no results of autotuning with others."""
    return frozenset(read_table("search")["autotuning"])


@lru_cache(maxsize=1)
def treatment() -> Treatment:
    """How the search treats hazards."""
    table = read_table("search")["hazards"]
    return Treatment(frozenset(table["numbers"]), frozenset(table["dies"]))


def _candidate(table: Mapping[str, Any]) -> Candidate:
    plain = {key: value for key, value in table.items() if key not in ("set", "for", "large")}
    settings = tuple(_setting(table, entry) for entry in table["set"])
    kinds, large = tuple(table["for"]), tuple(table.get("large", ()))
    return Candidate(**plain, settings=settings, kinds=kinds, large=large)


def _setting(table: Mapping[str, Any], entry: Mapping[str, Any]) -> Setting:
    kind, name = named_setting(entry, "search.toml")
    value = entry["value"] if kind == "jax_config" else setting_text(entry["value"])
    return Setting(kind, name, value, table["why"], f"search ({table['name']})", when=table.get("when", {}))
