"""What was read off some binaries, merged into what is committed of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .committed import PLUGINS, Release, Tables
from .facts import Facts, bare, differences, states
from .wheels import order

if TYPE_CHECKING:
    from collections.abc import Mapping

Read = dict[str, dict[str, Facts]]
"""Distribution -> release -> what was read off its binary."""


class UnfitError(ValueError):
    """What was read cannot stand in the tables, or the tables would lack something."""


def merged(tables: Tables, read: Read) -> Tables:
    """The tables with these releases read anew; what is said of every other release stays. Raises UnfitError."""
    after = _with_jaxlib(tables, read.get("jaxlib", {}))
    plugins = {name: {**after.plugins.get(name, {}), **_plugin(after, name, read.get(name, {}))} for name in PLUGINS}
    return replace(after, plugins=plugins)


def _with_jaxlib(tables: Tables, read: Mapping[str, Facts]) -> Tables:
    new = {r: Release(states(facts, r), facts["rules"], bare(facts)) for r, facts in read.items()}
    releases = {**tables.releases, **new}
    there = {name for release in releases.values() for name in release.states}
    types = {**tables.types, **_types(tables.types, read)}
    return Tables(
        releases,
        {name: kind for name, kind in types.items() if name in there},
        {name: text for name, text in {**tables.help, **_help(releases, read)}.items() if name in there},
        tables.plugins,
    )


def _types(known: Mapping[str, str], read: Mapping[str, Facts]) -> dict[str, str]:
    told = [(flag["name"], flag["type"]) for facts in read.values() for flag in facts["flags"]]
    types = dict(told)
    if changed := sorted({name for name, kind in told if kind != known.get(name, types[name])}):
        raise UnfitError(f"flags.tsv holds one type a flag, and these changed theirs: {', '.join(changed)}")
    return types


def _help(releases: Mapping[str, Release], read: Mapping[str, Facts]) -> dict[str, str]:
    """The help texts of the flags of which no newer release is known than the one that was read."""
    newest = {name: r for r in sorted(releases, key=order) for name in releases[r].states}
    return {f["name"]: f["help"] for r, facts in read.items() for f in facts["flags"] if newest[f["name"]] == r}


def _plugin(tables: Tables, name: str, read: Mapping[str, Facts]) -> dict[str, Facts]:
    if alone := sorted(set(read) - set(tables.releases), key=order):
        told = ", ".join(f"{name} {release}" for release in alone)
        raise UnfitError(f"{told}: a plugin is told by what differs from its jaxlib, which was not read; read it too")
    return {release: differences(tables.releases[release].states, facts, release) for release, facts in read.items()}
