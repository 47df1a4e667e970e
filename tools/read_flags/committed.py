"""The committed tables, as what holds in each release: read from their text, and written in one canonical form."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.writing import compact

from .facts import Facts
from .wheels import DISTRIBUTIONS, order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

METHOD = "the table of tsl::Flag and the parser of each shared object, asked; see tools/read_flags"
BUILDS, FLAGS, HELP = "builds.json", "flags.tsv", "flag_help.json"
PLUGINS = tuple(name for name in DISTRIBUTIONS if name != "jaxlib")
History = list[list[Any]]


@dataclass(frozen=True)
class Release:
    """One jaxlib: flag -> what is worth saying of it; how values are read; fields of DebugOptions without a flag."""

    states: Mapping[str, Facts]
    rules: Facts
    bare: frozenset[str]


@dataclass(frozen=True)
class Tables:
    """Everything that was ever read. ``plugins``: distribution -> release -> what it has otherwise than its jaxlib."""

    releases: Mapping[str, Release] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    plugins: Mapping[str, Mapping[str, Facts]] = field(default_factory=dict)


def texts(tables: Tables) -> dict[str, str]:
    """File name -> its text; nothing that depends on the day or the machine."""
    return {BUILDS: builds_text(tables), FLAGS: flags_text(tables), HELP: help_text(tables)}


def builds_text(tables: Tables) -> str:
    """What is not about one flag of jaxlib."""
    releases = _sorted(tables.releases)
    read = {"jaxlib": releases, **{name: _sorted(tables.plugins.get(name, {})) for name in PLUGINS}}
    top: Facts = {
        "provenance": {"method": METHOD, "wheels": {name: len(there) for name, there in sorted(read.items())}},
        "releases": list(releases),
        "plugin_releases": {name: list(read[name]) for name in PLUGINS},
        "plugin_differences": {name: {r: told for r, told in read[name].items() if told} for name in PLUGINS},
        "rules": changes({release: there.rules for release, there in releases.items()}),
        "options_without_flag": {name: _life(name, releases) for name in _bare_names(releases)},
    }
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{compact(value)}" for key, value in top.items()) + "\n}\n"


def flags_text(tables: Tables) -> str:
    """Sorted, one flag a line: its name, a tab, and its JSON, so that one can be read without the others."""
    releases = _sorted(tables.releases)
    histories = {name: changes({r: there.states.get(name) for r, there in releases.items()}) for name in tables.types}
    lines = ((name, {"type": tables.types[name], "history": history}) for name, history in sorted(histories.items()))
    return "".join(f"{name}\t{compact(facts)}\n" for name, facts in lines)


def help_text(tables: Tables) -> str:
    """The newest help text of every flag there ever was."""
    lines = (f"{json.dumps(name)}:{json.dumps(text)}" for name, text in sorted(tables.help.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def tables_of(files: Mapping[str, str]) -> Tables:
    """The tables that ``texts`` wrote so. Raises KeyError or ValueError for others."""
    builds: Facts = json.loads(files[BUILDS])
    flags = {name: json.loads(facts) for name, facts in (line.split("\t") for line in files[FLAGS].splitlines())}
    return Tables(
        releases=dict(_releases(builds, flags)),
        types={name: facts["type"] for name, facts in flags.items()},
        help=json.loads(files[HELP]),
        plugins={
            name: {release: builds["plugin_differences"][name].get(release, {}) for release in there}
            for name, there in builds["plugin_releases"].items()
        },
    )


def _releases(builds: Facts, flags: Mapping[str, Facts]) -> Iterator[tuple[str, Release]]:
    names: list[str] = builds["releases"]
    told = {flag: states_of(facts["history"], names) for flag, facts in flags.items()}
    rules = states_of(builds["rules"], names)
    bare = {name: dict(_there(history, names)) for name, history in builds["options_without_flag"].items()}
    for release in names:
        states = {flag: state for flag, by in told.items() if (state := by[release]) is not None}
        yield (
            release,
            Release(states, rules[release] or {}, frozenset(name for name, there in bare.items() if there[release])),
        )


def changes(states: Mapping[str, Facts | None]) -> History:
    """[[release, what is new from then on]]: a null key goes back to the usual, a null says that the flag is gone."""
    history: History = []
    before: Facts | None = None
    for release, now in states.items():
        if now != before:
            history.append([release, None if now is None else _delta(before or {}, now)])
        before = now
    return history


def states_of(history: History, releases: Iterable[str]) -> dict[str, Facts | None]:
    """What ``changes`` made into this history: release -> what holds there."""
    new: dict[str, Facts | None] = {release: change for release, change in history}  # noqa: C416
    now: Facts | None = None
    found: dict[str, Facts | None] = {}
    for release in releases:
        change = new.get(release, {})
        now = None if change is None or (now is None and release not in new) else _less({**(now or {}), **change})
        found[release] = now
    return found


def _less(state: Facts) -> Facts:
    return {key: value for key, value in state.items() if value is not None}


def _delta(before: Facts, now: Facts) -> Facts:
    return {key: now.get(key) for key in sorted({*before, *now}) if now.get(key) != before.get(key)}


def _bare_names(releases: Mapping[str, Release]) -> list[str]:
    return sorted({name for there in releases.values() for name in there.bare})


def _life(name: str, releases: Mapping[str, Release]) -> History:
    history = changes({release: {} if name in there.bare else None for release, there in releases.items()})
    return [[release, there is not None] for release, there in history]


def _there(history: History, releases: Iterable[str]) -> Iterator[tuple[str, bool]]:
    new: dict[str, bool] = {release: there for release, there in history}  # noqa: C416
    now = False
    for release in releases:
        now = new.get(release, now)
        yield release, now


def _sorted(by_release: Mapping[str, Any]) -> dict[str, Any]:
    return {release: by_release[release] for release in sorted(by_release, key=order)}
