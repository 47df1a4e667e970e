"""What the shell offers for a word that is being typed: names of presets, flags, variables, options, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..knowledge import flags as known
from ..knowledge import options, variables
from ..knowledge.candidates import candidates
from ..knowledge.presets import preset_names

__all__ = ["offers"]

VARIANTS = ("none", "clean")
"""What `compare` takes beside presets."""


def offers(what: str, begun: str) -> list[str]:
    """The words that ``begun`` may become; ``what``: "preset", "variant", "flag", "env", "config", or "name" for any of these.

    Of a setting NAME=VALUE the name comes first, and then the values where they are known.
    """
    if what in ("preset", "variant"):
        return list(_presets(begun, VARIANTS if what == "variant" else ()))
    if what == "name":
        dashes = begun[: len(begun) - len(begun.lstrip("-"))]
        others = (
            ()
            if dashes
            else (*preset_names(), *_variables(), *options.names(None), *(one.name for one in candidates()))
        )
        names = {*known.names(), *others}
        return sorted(f"{dashes}{name}" for name in names if name.startswith(begun.lstrip("-")))
    name, equals, value = begun.partition("=")
    plain = name.lstrip("-")
    if equals:
        return [f"{name}={word}" for word in _values(what, plain) if word.startswith(value)]
    dashes = name[: len(name) - len(plain)]
    of_kind = {"flag": known.names(), "env": _variables(), "config": options.names(None)}[what]
    return sorted(f"{dashes}{one}" for one in of_kind if one.startswith(plain))


def _presets(begun: str, more: Iterable[str]) -> Iterator[str]:
    """Behind a + the names that are not there yet."""
    before, plus, last = begun.rpartition("+")
    there = before.split("+")
    names = preset_names() if plus else sorted((*preset_names(), *more))
    yield from (f"{before}{plus}{name}" for name in names if name.startswith(last) and name not in there)


def _variables() -> tuple[str, ...]:
    return tuple(name for names in variables.spellings().values() for name in names)


def _values(what: str, name: str) -> tuple[str, ...]:
    """The words that a setting takes, where they are few and known."""
    if what == "flag":
        found = known.flag(name, known.releases()[-1]) if known.known(name) else None
        return () if found is None else ("true", "false") if found.type == "bool" else found.members
    if what == "env":
        spec = variables.variable(name)
        return () if spec is None else spec.values
    option = options.option(name, None)
    return (
        () if option is None else ("true", "false") if option.type == "bool" else tuple(map(str, option.values or ()))
    )
