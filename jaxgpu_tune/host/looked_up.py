"""What calls name outside themselves, looked up once before planning: files of presets, profiles, ``~`` and ``$NAME`` in a path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadSetting
from ..knowledge.presets import load_preset_file
from ..model import Preset
from ..named import Found, Kind, Named
from ..planning.composing import compose, is_path
from ..planning.settings.setting_names import CACHE_OPTION
from ..state import Layer

__all__ = ["named_by", "named_by_layers", "preset_files", "preset_of", "written_out"]

VARIABLE = r"\$(\w+|\{[^}]*\})"
WAYS = ("auto", "expect")
"""What ``pgle=`` takes beside a path."""


def preset_of(name: str) -> Preset:
    """The presets of a name as one, files read. Raises UnknownPreset, BadSetting."""
    return compose(name, preset_files(name))


def preset_files(name: str) -> dict[str, Found]:
    """What each file holds that the name of a preset names, or what is wrong with it."""
    return {part: _read(part) for part in _parts(name) if is_path(part)}


def named_by(preset: str, arguments: Mapping[str, Any], *, described: bool) -> Named:
    """What one call names. ``described``: for a machine whose files are not those here."""
    place = "+".join(os.path.abspath(part) if is_path(part) else part for part in _parts(preset))
    return Named(preset_files(preset), _profiles(arguments.get("pgle"), described=described), place)


def named_by_layers(layers: Iterable[Layer], *, described: bool) -> Named:
    """What earlier calls name."""
    presets: dict[str, Found] = {}
    profiles: dict[str, Kind] = {}
    for layer in layers:
        presets |= preset_files(str(layer.arguments.get("preset", "")))
        profiles |= _profiles(layer.arguments.get("pgle"), described=described)
    return Named(presets, profiles)


def _parts(name: str) -> list[str]:
    """A name's parts; a file may have a "+" in its own name."""
    return [name] if is_path(name) and os.path.isfile(name) else [part.strip() for part in name.split("+")]


def _read(path: str) -> Found:
    try:
        return load_preset_file(path)
    except BadSetting as wrong:
        return wrong.findings


def _profiles(given: Any, *, described: bool) -> dict[str, Kind]:
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if described or not isinstance(path, str) or path in WAYS:
        return {}
    return {path: "folder" if os.path.isdir(path) else "file" if os.path.isfile(path) else "absent"}


def written_out(arguments: Mapping[str, Any], environ: Mapping[str, str], *, described: bool) -> dict[str, Any]:
    """The arguments with the cache's folder written out as that environment has it, which jax itself does not do."""

    def of(name: object, value: Any) -> Any:
        return _path(value, environ, described=described) if str(name).lower() == CACHE_OPTION else value

    found = dict(arguments)
    for key in ("env", "jax_config"):
        if isinstance(found.get(key), Mapping):
            found[key] = {name: of(name, value) for name, value in found[key].items()}
    return found | {name: of(CACHE_OPTION, found[name]) for name in ("compilation_cache",) if name in found}


def _path(value: Any, environ: Mapping[str, str], *, described: bool) -> Any:
    """A path with ``~`` and variables replaced; an address such as gs://…, and what is no path, stays."""
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or "://" in text:
        return value
    if text.startswith("~"):
        user, slash, rest = text.partition("/")
        home = _home(user[1:], environ, described=described)
        text = f"{home.rstrip('/')}{slash}{rest}" if home else text
    return _with_variables(text, environ) if "$" in text else text


def _home(user: str, environ: Mapping[str, str], *, described: bool) -> str:
    """Where a user's files are; without a name, of the environment. Empty: nobody here knows."""
    if not user and environ.get("HOME"):
        return environ["HOME"]
    if described:
        return ""
    import pwd

    try:
        return (pwd.getpwnam(user) if user else pwd.getpwuid(os.getuid())).pw_dir
    except (KeyError, ValueError):
        return ""


def _with_variables(text: str, environ: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` replaced, as a shell does; one that is not set stays, for a finding to tell."""
    import re

    return re.sub(VARIABLE, lambda found: environ.get(found[1].strip("{}"), found[0]), text, flags=re.ASCII)
