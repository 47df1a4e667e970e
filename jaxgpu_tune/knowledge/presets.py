"""Presets: sets of settings, each one TOML file, ours and users'.

A file holds ``summary``, ``use_when``, ``kind``, ``source``, ``revision`` (of the source), ``call`` (code), ``evidence``, ``measured``, ``memory_fraction`` and ``[[set]]`` tables: exactly
one of ``flag``, ``env`` and ``config``, its ``value``, a ``reason``, and optionally ``source`` and ``when`` (the conditions of
``knowledge/vocabulary.py``); and ``[[advice]]`` tables: the ``text`` of what the program itself can do, and ``when``. ``measured``: where all of it was measured, in the words of ``when``; a ``[[set]]`` may say otherwise. A user's file may begin with ``extends``, the name of a preset or a list of them; only
``value`` is required in its ``[[set]]`` tables. Settings are stated in the newest names; translating is not done here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import BadSetting, UnknownPreset
from ..model import Finding, Preset, Setting
from ..wording import did_you_mean, setting_text
from .tables import KINDS, is_own, read_lines, read_toml, setting_kind
from .vocabulary import when_problems

__all__ = ["all_presets", "load_preset", "load_preset_file", "owner_of", "preset_names"]

PRESETS = os.path.join("authored", "presets.tsv")
TOP_KEYS: dict[str, tuple[type, ...]] = {
    "summary": (str,),
    "use_when": (str,),
    "kind": (str,),
    "source": (str,),
    "revision": (str,),
    "call": (str,),
    "evidence": (list,),
    "measured": (dict,),
    "memory_fraction": (float, int, str),
    "extends": (str, list),
    "set": (list,),
    "advice": (list,),
}
SET_KEYS = (*KINDS, "value", "reason", "source", "when", "measured")
ADVICE_KEYS = ("text", "when")
LOADS_CODE = (("xla_flag", "xla_gpu_cuda_data_dir"),)
"""Where XLA looks for the programs that it runs (ptxas)."""
USERS_KIND = "user"


def preset_names() -> tuple[str, ...]:
    """Name the presets that come with the library, sorted."""
    return tuple(sorted(read_lines(PRESETS)))


def all_presets() -> tuple[Preset, ...]:
    """Every preset that comes with the library, by name."""
    return tuple(map(load_preset, preset_names()))


def load_preset(name: str) -> Preset:
    """One preset of the library. Raises UnknownPreset naming the closest one."""
    line = read_lines(PRESETS).get(name)
    if line is None:
        raise UnknownPreset.of([_unknown(name)])
    return _preset(name, json.loads(line), ())


def load_preset_file(path: str | os.PathLike[str]) -> Preset:
    """Read a user's preset. Raises BadSetting with every problem, each with file, table and key."""
    shown = os.fspath(path)
    try:
        tables = read_toml(path)
    except OSError as error:
        raise BadSetting.of([_bad(shown, f"cannot be read: {error.strerror or error}.")]) from error
    except ValueError as error:
        raise BadSetting.of([_bad(shown, f"is not TOML: {error}.")]) from error
    problems = [_bad(shown, problem) for problem in _problems(tables)]
    if problems:
        raise BadSetting.of(problems)
    name = os.path.splitext(os.path.basename(shown))[0]
    own = _preset(name, {"summary": f"Preset of {shown}.", **tables, "kind": USERS_KIND}, _bases(tables))
    return own._replace(
        settings=tuple(
            one._replace(source=f"preset {shown}") if one.source == f"preset {name}" else one for one in own.settings
        ),
    )


def _preset(name: str, tables: Mapping[str, Any], bases: tuple[Preset, ...]) -> Preset:
    inherited = tuple(setting for base in bases for setting in base.settings)
    measured = tables.get("measured", {})
    own = tuple(_setting(name, {"measured": measured, **table}) for table in tables.get("set", ()))
    fractions = [base.memory_fraction for base in bases if base.memory_fraction is not None]
    return Preset(
        name=name,
        summary=tables["summary"],
        use_when=tables.get("use_when", ""),
        kind=tables["kind"],
        settings=(*inherited, *own),
        evidence=tuple(tables.get("evidence", ())),
        source=tables.get("source", ""),
        revision=tables.get("revision", ""),
        call=tables.get("call", ""),
        memory_fraction=tables.get("memory_fraction", fractions[-1] if fractions else None),
        advice=(
            *(advice for base in bases for advice in base.advice),
            *((table["text"], table.get("when", {})) for table in tables.get("advice", ())),
        ),
    )


def owner_of(source: str) -> str:
    """The preset of this library that a setting's source names; empty: a user's file, or no preset at all."""
    return next((name for name in preset_names() if f"{source} ".startswith(f"preset {name} ")), "")


def _setting(preset: str, table: Mapping[str, Any]) -> Setting:
    found = setting_kind(table)
    assert found is not None
    value = table["value"]
    return Setting(
        kind=found[0],
        name=found[1],
        value=value if found[0] == "jax_config" else setting_text(value),
        reason=table.get("reason", "asked for by the preset"),
        source=f"preset {preset}" + (f" ({table['source']})" if "source" in table else ""),
        when=table.get("when", {}),
        measured=table.get("measured", {}),
    )


def _bases(tables: Mapping[str, Any]) -> tuple[Preset, ...]:
    return tuple(map(load_preset, _extended(tables)))


def _extended(tables: Mapping[str, Any]) -> tuple[Any, ...]:
    extends = tables.get("extends", ())
    return (extends,) if isinstance(extends, str) else tuple(extends)


def _problems(tables: Mapping[str, Any]) -> Iterator[str]:
    for key, value in tables.items():
        if key not in TOP_KEYS:
            yield f"{key}: no such key; allowed: {', '.join(TOP_KEYS)}. {_meant(key, value)}"
        elif isinstance(value, bool) or not isinstance(value, TOP_KEYS[key]):
            yield f"{key} = {value!r} is not valid; allowed: {_type_names(TOP_KEYS[key])}.{_tables(key)}"
    yield from _fraction_problems(tables.get("memory_fraction"))
    yield from _kind_problems(tables.get("kind"))
    yield from _list_problems(tables)
    yield from when_problems(tables.get("measured", {}), "measured")
    yield from _tables_problems(tables, "set", _set_problems)
    yield from _tables_problems(tables, "advice", _advice_problems)


def _meant(key: str, value: Any) -> str:
    """What to write for a key that is no preset's: settings under the words of ``configure()`` are a table each."""
    kind = "config" if key == "jax_config" else key.removesuffix("s")
    if kind not in KINDS and key != "settings":
        return did_you_mean(key, TOP_KEYS)
    named = next(iter(value), "") if isinstance(value, dict) else value if isinstance(value, str) else ""
    return f'Begin each setting with [[set]]; below it write {kind if kind in KINDS else "flag"} = "{named or "NAME"}" and value = ….'


def _tables_problems(tables: Mapping[str, Any], key: str, of_one: Callable[[Any], Iterator[str]]) -> Iterator[str]:
    found = tables.get(key)
    for number, table in enumerate(found if isinstance(found, list) else (), start=1):
        problems = of_one(table) if isinstance(table, dict) else ["is not a table."]
        yield from (f"[[{key}]] {number}: {problem}" for problem in problems)


def _fraction_problems(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value != "auto":
        yield f'memory_fraction = {value!r} is not valid; allowed: a fraction such as 0.75, or "auto".'
    elif isinstance(value, (int, float)) and not 0 < value < float("inf"):
        yield f'memory_fraction = {value!r} is not valid; allowed: a fraction above 0 such as 0.75, or "auto".'


def _kind_problems(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value != USERS_KIND:
        yield f'kind = {value!r} is not valid; a file of your own is of kind "{USERS_KIND}" (the key may be left out).'


def _list_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    for key in ("evidence", "extends"):
        members = tables.get(key)
        if isinstance(members, list) and not all(isinstance(member, str) for member in members):
            yield f"{key}: every member must be text."
    known = preset_names()
    extends = tables.get("extends", ())
    for name in _extended(tables) if isinstance(extends, (str, list)) else ():
        if isinstance(name, str) and name not in known:
            why, hint = _not_a_preset(name)
            hint = "Several are a list of names." if "+" in name else hint
            yield f"extends = {name!r}: no such preset; {why}. {hint}"


def _set_problems(table: Mapping[str, Any]) -> Iterator[str]:
    yield from _key_problems(table, SET_KEYS)
    yield from _name_problems(setting_kind(table))
    if "value" not in table:
        yield "value is missing."
    elif not _is_value(table["value"]):
        yield f"value = {table['value']!r} is not valid; allowed: true, false, a number, text without a NUL, or a list of these."
    for key in ("reason", "source"):
        if not isinstance(table.get(key, ""), str):
            yield f"{key} = {table[key]!r} is not text."
    for key in ("when", "measured"):
        yield from when_problems(table.get(key, {}), key)


def _name_problems(named: tuple[str, Any] | None) -> Iterator[str]:
    if named is None:
        yield f"exactly one of {', '.join(KINDS)} is needed."
    elif not isinstance(named[1], str) or not named[1] or named[1].startswith("-") or {"=", "\0"} & set(named[1]):
        yield f"{named[1]!r} is not a name; give it without leading dashes and value."
    elif named == ("env", "XLA_FLAGS"):
        yield 'env = "XLA_FLAGS" would set aside every other flag; give each in a [[set]] of its own: flag = "xla_…".'
    elif named[0] == "env" and is_own(named[1]):
        yield f"env = {named[1]!r} is not valid; allowed: variables other than this library's own."
    elif _decides_code(named):
        yield (
            f"{named[1]!r} decides which code runs, and a preset may come from anywhere; allowed: settings of XLA, JAX, NCCL and "
            "CUDA, and of the program. Set it in the shell that starts the program."
        )


def _decides_code(named: tuple[str, str]) -> bool:
    from .variables import decides_code

    return named in LOADS_CODE or (named[0] == "env" and decides_code(named[1]))


def _advice_problems(table: Mapping[str, Any]) -> Iterator[str]:
    yield from _key_problems(table, ADVICE_KEYS)
    if not isinstance(table.get("text"), str) or not table["text"].strip():
        yield f"text = {table.get('text')!r} is not valid; allowed: a sentence or two."
    yield from when_problems(table.get("when", {}), "when")


def _key_problems(table: Mapping[str, Any], allowed: tuple[str, ...]) -> Iterator[str]:
    for key in table:
        if key not in allowed:
            yield f"{key}: no such key; allowed: {', '.join(allowed)}. {did_you_mean(key, allowed)}"


def _is_value(value: Any) -> bool:
    given = value if isinstance(value, list) else [value]
    return all(isinstance(one, (bool, int, float, str)) and "\0" not in str(one) for one in given)


def _tables(key: str) -> str:
    return f" Begin each entry with [[{key}]]." if key in ("set", "advice") else ""


def _type_names(types: tuple[type, ...]) -> str:
    words = {str: "text", list: "a list", dict: "a table", float: "a number", int: "a whole number"}
    return " or ".join(words[one] for one in types)


def nearest_presets(name: str) -> list[str]:
    """The three names of presets that are most like a name."""
    from difflib import get_close_matches

    return get_close_matches(name.lower(), preset_names(), 3, 0.0)


def _unknown(name: str) -> Finding:
    why, hint = _not_a_preset(name)
    listed = f" (`jaxgpu-tune presets` lists all {len(preset_names())})"
    return Finding("unknown-preset", "error", f"There is no preset {name!r}; {why}{listed}.", hint)


def _not_a_preset(name: str) -> tuple[str, str]:
    """What a name is instead, or what is most like it; and what to do."""
    from .real_names import also_called, real_name

    if meant := also_called(name):
        return f"{meant!r} is for that here", f"Did you mean {meant!r}?"
    parts = name.replace(",", " ").replace(";", " ").split()
    if len(parts) > 1 and set(parts) <= set(preset_names()):
        return "presets are joined by +", f"Write {'+'.join(parts)!r}."
    if real := real_name(name):
        return f"{name.partition('=')[0]} is {real.what}", real.instead
    near = did_you_mean(name, preset_names()) or "For a preset of your own, give the path of its TOML file."
    return f"the nearest are {', '.join(nearest_presets(name))}", near


def _bad(path: str, problem: str) -> Finding:
    return Finding("bad-preset-file", "error", f"{path}: {problem.rstrip()}", "")
