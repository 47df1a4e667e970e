"""The jax.config options of every release (``data/jax_options.json``, made by ``tools/read_jax_options.py``; ``data/options.toml``).

Any version text of jax stands for the release that ``versions.resolve_among`` names. What jax would refuse or misread
is refused here with a sentence: ``jax.config.update("jax_enable_pgle", "false")`` would turn it on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from ..values import Value
from ..wording import nearest, setting_text
from .tables import lifetimes, read_generated, read_table, state_at
from .versions import resolve_among

__all__ = ["OptionSpec", "closest_option", "env_text", "known", "life", "names", "option", "parse", "releases"]

Moment = Literal["import", "backend", "distributed", "any"]


_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")
_PAIR = "[^:;]*:[^:;]*"

NEAR = 0.75
"""How alike an option must be to be offered for a name."""


class OptionSpec(Value):
    """One option in one release of jax.

    ``type``: bool, int, float, string, enum or object (a text, or what jax's own code passes). ``values``: what an enum
    allows. ``optional``: None may be set. ``default``: as jax defines it. ``env``: ``import jax`` reads the variable
    of the upper-cased name. ``moment``: until when it counts: "backend": the backend's start, "distributed":
    ``jax.distributed.initialize()``, "import": ``import jax``, "any": always.
    """

    name: str
    type: Literal["bool", "int", "float", "string", "enum", "object"]
    values: tuple[str, ...] = ()
    optional: bool = False
    default: bool | float | str | None = None
    env: bool = True
    moment: Moment = "any"


def releases() -> tuple[str, ...]:
    """Every known release of jax, oldest first."""
    return tuple(_data()["releases"])


def option(name: str, version: str | None) -> OptionSpec | None:
    """The option as that version of jax has it; None if it has none of that name. No version: the newest release."""
    history = _data()["options"].get(name)
    return _spec(name, _release(version)) if history else None


def known(name: str) -> bool:
    """Whether any release has an option of that name."""
    return name in _data()["options"]


def names(version: str | None) -> tuple[str, ...]:
    """Return every option of a version of jax, in alphabetical order."""
    release = _release(version)
    return tuple(name for name in _data()["options"] if _spec(name, release))


def closest_option(name: str, version: str | None) -> str | None:
    """The option of that version that was probably meant, None if none is near."""
    there = names(version)
    plain = name.lower().replace("-", "_").lstrip("_")
    guesses = (plain, f"jax_{plain}")
    exact = next((guess for guess in guesses if guess in there), None)
    return exact or nearest(guesses[0], there, NEAR) or nearest(guesses[1], there, NEAR)


def life(name: str) -> tuple[tuple[str, str | None], ...]:
    """The spans of releases that have the option: (first, last), last None where the newest has it."""
    return tuple(lifetimes(_data()["options"].get(name, ()), releases()))


def parse(spec: OptionSpec, value: Any) -> Any:
    """The value that jax.config should get for ``value``, which may be a text as from the environment.

    Raises ValueError, with a sentence, for what jax would refuse or misread.
    """
    if value is None:
        if spec.optional:
            return None
        raise ValueError(f"{spec.name} cannot be None; it takes {_allowed(spec)}.")
    return _PARSERS[spec.type](spec, value)


def env_text(spec: OptionSpec, value: Any) -> str:
    """The text that the option's variable takes for a value as ``parse`` returns it.

    Raises ValueError for None, which no text says: the variable has to be unset.
    """
    if value is None:
        raise ValueError(f"No text of {spec.name.upper()} says None; the variable has to be unset.")
    if isinstance(value, Mapping):
        return ";".join(f"{key}:{text}" for key, text in value.items())
    return setting_text(value)


def _bool(spec: OptionSpec, value: Any) -> bool:
    text = str(value).lower()
    if isinstance(value, (bool, int, str)) and text in _TRUE + _FALSE:
        return text in _TRUE
    raise _refused(spec, value)


def _number(spec: OptionSpec, value: Any) -> float:
    kinds, convert = ((int, str), int) if spec.type == "int" else ((float, int, str), float)
    if isinstance(value, kinds) and not isinstance(value, bool):
        try:
            return convert(value)
        except (ValueError, OverflowError):
            pass
    raise _refused(spec, value)


def _enum(spec: OptionSpec, value: Any) -> str:
    if isinstance(value, str) and value in spec.values:
        return str(value)
    raise _refused(spec, value)


def _string(spec: OptionSpec, value: Any) -> str:
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if isinstance(text, str) and re.fullmatch(_forms().get(spec.name, (".*",))[0], text, re.DOTALL):
        return text
    raise _refused(spec, value)


def _object(spec: OptionSpec, value: Any) -> Any:
    """Texts, and mappings of texts. Anything else would not reach a child process, whose variable holds text only."""
    if not isinstance(value, Mapping):
        return _string(spec, value)
    texts = all(isinstance(member, str) for pair in value.items() for member in pair)
    readable = all(re.fullmatch(_PAIR, f"{name}:{text}") for name, text in value.items())
    if spec.name in _forms() and texts and readable:
        return dict(value)
    raise _refused(spec, value)


_PARSERS: dict[str, Callable[[OptionSpec, Any], Any]] = {
    "bool": _bool,
    "int": _number,
    "float": _number,
    "enum": _enum,
    "string": _string,
    "object": _object,
}

_KINDS = {
    "bool": "true or false (also y, yes, t, on, 1, n, no, f, off, 0)",
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "object": "a text",
}


def _allowed(spec: OptionSpec) -> str:
    form = _forms()[spec.name][1] if spec.name in _forms() else None
    allowed = form or _KINDS.get(spec.type) or f"one of {', '.join(spec.values)}"
    if form and spec.type == "object":
        allowed += ", a mapping of texts to texts (its variable holds text only)"
    return f"{allowed}, or None" if spec.optional else allowed


def _refused(spec: OptionSpec, value: Any) -> ValueError:
    return ValueError(f"{spec.name} takes {_allowed(spec)}, not {value!r}. {_near(spec, value)}".rstrip())


def _near(spec: OptionSpec, value: Any) -> str:
    by_lower = {choice.lower(): choice for choice in spec.values or ("true", "false")}
    candidates = list(by_lower) if spec.type in ("enum", "bool") else []
    if any(value in (change or {}).get("values", ()) for _, change in _data()["options"].get(spec.name, ())):
        return "Other releases take it."
    near = nearest(str(value).lower(), candidates)
    return f"Did you mean {by_lower[near]!r}?" if near else ""


@cache
def _spec(name: str, release: str) -> OptionSpec | None:
    index = _data()["index"]
    state = state_at(_data()["options"][name], index, index[release])
    if state is None:
        return None
    values = tuple(state.get("values", ()))
    return OptionSpec(name=name, **{**state, "values": values}, moment=_moments().get(name, "any"))


def _release(version: str | None) -> str:
    return releases()[-1] if version is None else _resolved(version)


@cache
def _resolved(version: str) -> str:
    return resolve_among(releases(), version).release


@cache
def _data() -> dict[str, Any]:
    data = read_generated("jax_options.json")
    data["index"] = {release: at for at, release in enumerate(data["releases"])}
    return data


@cache
def _moments() -> dict[str, Moment]:
    """Until when an option counts, where that is not any time."""
    return {name: moment for moment, named in read_table("options")["until"].items() for name in named}


@cache
def _forms() -> dict[str, tuple[str, str]]:
    """Texts that jax takes as they come and refuses when the backend starts: what it can read, as a pattern and in words."""
    return {name: (one["reads"], one["words"]) for one in read_table("options")["form"] for name in one["options"]}
