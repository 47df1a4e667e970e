"""The XLA flags of every release, as read off the binaries (``data/builds.json`` and ``flags.tsv``, made by ``tools/read_flags``).

A release is one of ``releases()``; any other version stands for the release that ``resolve`` names. The parser's
rules for values are in ``flag_values``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ..wording import nearest
from .flag_spec import FlagSpec, Rules
from .tables import lifetimes, read_generated, read_lines, state_at
from .versions import Resolved, resolve_among

__all__ = [
    "canonical",
    "check_value",
    "closest_ever",
    "closest_flag",
    "flag",
    "flags",
    "help_text",
    "is_default",
    "known",
    "life",
    "names",
    "options_without_flag",
    "outcome",
    "parser_rules",
    "releases",
    "resolve",
]

FLAGS = "flags.tsv"


def releases() -> tuple[str, ...]:
    """Every known release of jaxlib, oldest first."""
    return tuple(_builds()["releases"])


def resolve(version: str) -> Resolved:
    """The known release that stands for an installed version; see ``versions.resolve_among``."""
    return resolve_among(releases(), version)


@cache
def flag(name: str, release: str) -> FlagSpec | None:
    """The flag as that release has it; None if it has none of that name."""
    entry = _entry(name)
    state = entry and state_at(entry["history"], _builds()["index"], _index(release))
    return _spec(name, entry["type"], state) if entry and state else None


def flags(release: str) -> Mapping[str, FlagSpec]:
    """Every flag of a release by name, in alphabetical order; each is made when it is asked for."""
    return _Flags(release)


def parser_rules(release: str) -> Rules:
    """How the parser of a release reads values in general."""
    state = state_at(_builds()["rules"], _builds()["index"], _index(release)) or {}
    state["float_words"] = tuple(state["float_words"])
    return Rules(**state)


def known(name: str) -> bool:
    """Whether any release has a flag of that name."""
    return name in read_lines(FLAGS)


def names() -> tuple[str, ...]:
    """Return every flag there ever was, in alphabetical order."""
    return tuple(read_lines(FLAGS))


def life(name: str) -> tuple[tuple[str, str | None], ...]:
    """The spans of releases that have the flag: (first, last), last None where the newest has it."""
    entry = _entry(name)
    return tuple(lifetimes(entry["history"], releases())) if entry else ()


NEAR = 0.75
"""How alike a flag must be to be offered for a name; below it a beginning in common is all that they share."""


def closest_flag(name: str, release: str) -> str | None:
    """The flag of that release that was probably meant, None if none is near."""
    there = flags(release)
    plain = name.lstrip("-").replace("-", "_").lower()
    guesses = (prefix + plain for prefix in ("", "xla_gpu_", "xla_"))
    exact = next((guess for guess in guesses if guess in there), None)
    return exact or nearest(plain, there, NEAR)


def closest_ever(name: str) -> str | None:
    """The flag of any release that was probably meant, None if none is near."""
    return nearest(name, names(), NEAR)


@cache
def options_without_flag(release: str) -> frozenset[str]:
    """Names that ``compiler_options`` takes in a release though XLA_FLAGS knows no such flag."""
    at = _index(release)
    return frozenset(name for name, history in _builds()["options_without_flag"].items() if _latest(history, at))


def help_text(name: str) -> str:
    """XLA's own help text of the newest release that has the flag; empty if there is none."""
    return str(_help().get(name, ""))


def canonical(spec: FlagSpec, text: str | None) -> object:
    """The value that ``text`` means; two texts with the same effect compare equal.

    Raises ValueError, with a sentence, if no release would take it, and for None (``effective`` where no text does it).
    """
    from .flag_values import meaning_of

    return meaning_of(spec, text)


def check_value(spec: FlagSpec, text: str, release: str) -> str | None:
    """Why the parser of ``release`` would refuse ``text`` (a sentence that says what is allowed), or None.

    A number that an old parser would silently wrap around counts as refused.
    """
    from .flag_values import refusal

    return refusal(spec, text, parser_rules(release))


def outcome(spec: FlagSpec, text: str, release: str) -> str:
    """What the parser of ``release`` does with a text that ``check_value`` refuses: half a sentence."""
    from .flag_values import outcome_by_rules

    return outcome_by_rules(spec, text, parser_rules(release))


def is_default(spec: FlagSpec, text: str) -> bool:
    """Whether the options are the same with this flag as without it."""
    try:
        return canonical(spec, text) == canonical(spec, spec.effective)
    except ValueError:
        return False


class _Flags(Mapping[str, FlagSpec]):
    def __init__(self, release: str) -> None:
        self._release = release

    def __getitem__(self, name: str) -> FlagSpec:
        spec = flag(name, self._release)
        if spec is None:
            raise KeyError(name)
        return spec

    def __contains__(self, name: object) -> bool:
        return name in _names(self._release)

    def __iter__(self) -> Iterator[str]:
        return iter(_names(self._release))

    def __len__(self) -> int:
        return len(_names(self._release))


@cache
def _builds() -> dict[str, Any]:
    """What is not about one flag."""
    data = read_generated("builds.json")
    data["index"] = {release: at for at, release in enumerate(data["releases"])}
    return data


@cache
def _entry(name: str) -> dict[str, Any] | None:
    """What is known of one flag: a plan asks for a dozen, and reading all of them takes a third as long as the plan."""
    line = read_lines(FLAGS).get(name)
    return None if line is None else json.loads(line)


@cache
def _help() -> dict[str, str]:
    return read_generated("flag_help.json")


def _index(release: str) -> int:
    index: dict[str, int] = _builds()["index"]
    return index[release] if release in index else index[resolve(release).release]


@cache
def _names(release: str) -> dict[str, None]:
    at = _index(release)
    return {
        name: None
        for name in read_lines(FLAGS)
        if (entry := _entry(name)) and _latest(entry["history"], at) is not None
    }


def _latest(history: list[Any], at: int) -> Any:
    """The last entry that counts for the release at that place; None before the first."""
    index = _builds()["index"]
    return next((change for release, change in reversed(history) if index[release] <= at), None)


def _spec(name: str, kind: str, state: Mapping[str, Any]) -> FlagSpec:
    effective = state.get("effective")
    return FlagSpec(
        name=name,
        type=kind,
        default=state["default"],
        effective=state["default"] if effective is None else effective or (None if effective is False else ""),
        fields=(name,) if state.get("fields") is None else tuple(state["fields"]),
        refuses=state.get("refuses") or "",
        compile_option=state.get("compile_option") is not False,
        undefined=bool(state.get("undefined")),
        deprecated=bool(state.get("deprecated")),
        **_meaning(kind, state.get("values") or {}),
    )


def _meaning(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a text of the flag means, as the fields of its spec."""
    members, increments = tuple(values.get("members", ())), values.get("incremental", False)
    return {
        "form": values.get("form", "text" if kind == "string" else kind),
        "members": members,
        "names": tuple(values.get("names", members)),
        "case": values.get("case", "exact"),
        "prefix": values.get("prefix", ""),
        "empty": values.get("empty", kind == "string"),
        "aliases": tuple(sorted(values.get("aliases", {}).items())),
        "ignored": values.get("ignored", ""),
        "separator": values.get("separator", ","),
        "incremental": bool(increments),
        "first_only": increments == "first",
        "blanks": values.get("blanks", False),
        "trailing": values.get("trailing", False),
        "suffix": values.get("suffix", ""),
        "types": tuple(values.get("types", ())),
        # ranges are added to a field that keeps them all
        "repeat": values.get("repeat", "append" if values.get("form") == "ranges" else "last"),
    }
