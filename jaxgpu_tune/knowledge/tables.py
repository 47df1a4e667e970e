"""Reading the authored tables (TOML) in ``data/``, and checking the form of what is read."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from io import StringIO

from ..errors import JaxGpuTuneError
from ..own_files import PACKAGE, own_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..model import SettingKind


__all__ = [
    "DATA",
    "complete",
    "is_own",
    "lifetimes",
    "named_setting",
    "one_or_more",
    "read_generated",
    "read_lines",
    "read_measured",
    "read_table",
    "read_toml",
    "setting_kind",
    "state_at",
    "with_tuples",
]

DATA = os.path.join(PACKAGE, "knowledge", "data")
KINDS: dict[str, SettingKind] = {"flag": "xla_flag", "env": "env", "config": "jax_config"}
"""The key that names a setting in a table, and the kind of setting it means."""
KEYS = {kind: key for key, kind in KINDS.items()}

REQUIRED = {
    "builds.json": ("releases", "plugin_releases", "plugin_differences", "rules", "options_without_flag"),
    "jax_options.json": ("releases", "options"),
}
"""What a generated table must hold something of, wherever it is read or written."""


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the tables of one TOML file, with or without a byte order mark. Raises OSError, and ValueError for what is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            tables: dict[str, Any] = tomllib.loads(file.read())
    except RecursionError as error:
        raise ValueError(f"too deeply nested ({error})") from error
    return tables


@cache
def read_table(name: str) -> dict[str, Any]:
    """One of this library's own tables, such as "notes": authored in TOML, read from its JSON form.

    ``tools/compile_tables.py`` makes the one of the other: importing a TOML parser takes longer than a whole plan.
    """
    return Table(f"authored/{name}.json", json.loads(_read(f"authored/{name}.json")))


@cache
def read_generated(name: str) -> dict[str, Any]:
    """One of the tables that ``tools`` read off releases, such as "builds.json"."""
    return complete(name, json.loads(_read(name)))


@cache
def read_lines(name: str) -> dict[str, str]:
    """A table of which a call needs little, such as "flags.tsv": name -> its JSON, which is left to be read where it is asked for."""
    return complete(name, dict(line.split("\t") for line in StringIO(_read(name))))


def read_measured(name: str) -> tuple[Mapping[str, Any], ...]:
    """The records of what was measured, such as "gains.json", which ``python -m benchmarks.tables`` writes."""
    return tuple(json.loads(_read(name)))


def _read(name: str) -> str:
    return own_text(os.path.join(DATA, name))


class Table(dict[str, "Any"]):
    """A table that says its name where it lacks what it is asked for."""

    def __init__(self, name: str, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.name = name

    def __missing__(self, key: str) -> Any:
        raise _incomplete(self.name, key)


def complete(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The table, if it holds something, and something under each key that ``REQUIRED`` names. Raises JaxGpuTuneError."""
    for key in REQUIRED.get(name, ()):
        if not content.get(key):
            raise _incomplete(name, key)
    if not content:
        raise _incomplete(name, "all that it should hold")
    return Table(name, content)


def _incomplete(name: str, lacking: str) -> JaxGpuTuneError:
    hint = "Install jaxgpu_tune again; in a checkout: git checkout -- jaxgpu_tune/knowledge/data."
    return JaxGpuTuneError(f"The table {name} of jaxgpu_tune lacks {lacking}. {hint}")


def with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its lists as tuples, as a frozen value holds them."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def one_or_more(value: Any) -> tuple[Any, ...]:
    """What a key says that takes one thing or a list of them."""
    return tuple(value) if isinstance(value, list) else (value,)


def setting_kind(table: Mapping[str, Any]) -> tuple[SettingKind, Any] | None:
    """(kind, name or names) of a table that has exactly one of the keys flag, env and config; None otherwise."""
    keys = [key for key in KINDS if key in table]
    return (KINDS[keys[0]], table[keys[0]]) if len(keys) == 1 else None


def named_setting(table: Mapping[str, Any], file: str) -> tuple[SettingKind, Any]:
    """As ``setting_kind``. Raises ValueError where there is not exactly one of the keys."""
    found = setting_kind(table)
    if found is None:
        raise ValueError(f"{file}: exactly one of flag, env and config is needed in {dict(table)!r}")
    return found


def state_at(history: Iterable[Any], index: Mapping[str, int], at: int) -> dict[str, Any] | None:
    """All that holds in the release at that place: the changes of the span it lies in, one upon the other; None: there is nothing.

    ``history`` of a generated table: (release, what is new from it on, None: gone); ``index``: the place of each release.
    """
    state: dict[str, Any] | None = None
    for release, change in history:
        if index[release] > at:
            break
        state = None if change is None else {**(state or {}), **change}
    return state


def lifetimes(history: Iterable[Any], releases: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The spans of ``releases`` in which a history tells of something: (first, last), last None where the newest is one."""
    first = None
    for release, change in history:
        if change is None and first is not None:
            yield first, releases[releases.index(release) - 1]
        first = None if change is None else first or release
    if first is not None:
        yield first, None


def is_own(variable: str) -> bool:
    """Whether a variable is one of this library's own, which a preset or a call cannot set."""
    return variable.startswith("JAXGPU_TUNE")
