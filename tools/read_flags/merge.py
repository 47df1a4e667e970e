"""From what was read off each binary to the committed files, in one canonical form."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .wheels import DISTRIBUTIONS, order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DATA = Path(__file__).parents[2] / "jaxgpu_tune" / "knowledge" / "data"
_METHOD = "the table of tsl::Flag and the parser of each shared object, asked; see tools/read_flags"

UNDEFINED = {"xla_gpu_enable_while_loop_unrolling": ("0.4.34", "0.9.0.1")}
"""Flag -> first and last release in which what a value does is chance, as the binaries' source tells, never as one run looked.

Up to then its setter holds a reference to an argument of the function that registers the flags, and writes through it long after
that function returned: ``[&debug_options]`` in https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc of that time.
"""

DEPRECATED = r"(?i)^\[?deprecated"
"""How the help text of a flag begins that XLA itself calls deprecated."""
Facts = dict[str, Any]
History = list[list[Any]]


def write(cache: Path, ask: bool) -> None:
    """Show how the committed files would change, and change them (``ask``: after a yes)."""
    read = {d: _of_distribution(cache, d) for d in DISTRIBUTIONS}
    texts = {
        "builds.json": builds_text(read),
        "flags.tsv": flags_text(read["jaxlib"]),
        "flag_help.json": help_text(read["jaxlib"]),
    }
    for name, text in texts.items():
        _put(_DATA / name, text, ask)


def _of_distribution(cache: Path, distribution: str) -> dict[str, Facts]:
    """Release -> what was read, oldest first."""
    found = {f.stem[len(distribution) + 1 :]: f for f in cache.glob(f"{distribution}-*.json")}
    return {release: json.loads(found[release].read_text()) for release in sorted(found, key=order)}


def _put(path: Path, text: str, ask: bool) -> None:
    old = path.read_text() if path.exists() else ""
    if old == text:
        print(f"{path.name}: unchanged")
        return
    for line in difflib.unified_diff(old.splitlines(), text.splitlines(), path.name, "new", n=0, lineterm=""):
        print(line[:200])
    if not ask or input(f"write {path.name}? [y/N] ").strip().lower() == "y":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def builds_text(read: Mapping[str, Mapping[str, Facts]]) -> str:
    """``builds.json``: what is not about one flag of jaxlib; nothing that depends on the day or the machine."""
    jaxlib = read["jaxlib"]
    top: Facts = {
        "provenance": {"method": _METHOD, "wheels": {d: len(r) for d, r in sorted(read.items())}},
        "releases": list(jaxlib),
        "plugin_releases": {d: list(r) for d, r in sorted(read.items()) if d != "jaxlib"},
        "plugin_differences": {d: differences(jaxlib, r) for d, r in sorted(read.items()) if d != "jaxlib"},
        "rules": _changes(jaxlib, {release: facts["rules"] for release, facts in jaxlib.items()}),
        "options_without_flag": _lives(jaxlib),
    }
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{_compact(value)}" for key, value in top.items()) + "\n}\n"


def flags_text(jaxlib: Mapping[str, Facts]) -> str:
    """``flags.tsv``: sorted, one flag a line: its name, a tab, and its JSON, so that one can be read without the others."""
    return "".join(f"{name}\t{_compact(facts)}\n" for name, facts in sorted(_flags(jaxlib).items()))


def help_text(jaxlib: Mapping[str, Facts]) -> str:
    """``flag_help.json``: the newest help text of every flag there ever was."""
    newest = {f["name"]: f["help"] for facts in jaxlib.values() for f in facts["flags"]}
    lines = (f"{json.dumps(name)}:{json.dumps(text)}" for name, text in sorted(newest.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def differences(jaxlib: Mapping[str, Facts], plugin: Mapping[str, Facts]) -> Facts:
    """Release -> flag -> what the plugin has otherwise than the jaxlib of the same release (null: has no such flag)."""
    out = {}
    for release, facts in plugin.items():
        ours, theirs = _states(jaxlib[release], release), _states(facts, release)
        tried = {f["name"] for f in facts["flags"] if "fields" in f}
        found = {name: _other(ours.get(name), theirs.get(name), name in tried) for name in sorted({*ours, *theirs})}
        if changed := {name: other for name, other in found.items() if other != {}}:
            out[release] = changed
    return out


def _other(ours: Facts | None, theirs: Facts | None, tried: bool) -> Facts | None:
    if theirs is None or ours is None:
        return theirs
    keys = sorted({*ours, *theirs}) if tried else ["default"]
    return {key: theirs.get(key) for key in keys if theirs.get(key) != ours.get(key)}


def _flags(jaxlib: Mapping[str, Facts]) -> dict[str, Facts]:
    states = {release: _states(facts, release) for release, facts in jaxlib.items()}
    types: dict[str, set[str]] = {}
    for facts in jaxlib.values():
        for flag in facts["flags"]:
            types.setdefault(flag["name"], set()).add(flag["type"])
    changed = sorted(name for name, kinds in types.items() if len(kinds) > 1)
    assert not changed, f"flags that changed their type: {changed}"
    return {
        name: {"type": kinds.pop(), "history": _changes(jaxlib, {r: s.get(name) for r, s in states.items()})}
        for name, kinds in types.items()
    }


def _states(facts: Facts, release: str) -> dict[str, Facts]:
    return {flag["name"]: _state(_certain(flag, release), facts["options"]) for flag in facts["flags"]}


def _certain(flag: Facts, release: str) -> Facts:
    """The flag less what is chance: of one that is undefined, which texts pass is a fact, and what they do is none."""
    first, last = UNDEFINED.get(flag["name"], (None, None))
    known = first is not None and last is not None and order(first) <= order(release) <= order(last)
    if not known and not flag.get("undefined"):
        return flag
    return flag | {"fields": [flag["name"]], "effective": None, "undefined": True, "compile_option": True}


def _state(flag: Facts, options: Mapping[str, Any]) -> Facts:
    """What is worth saying of one flag: what goes without saying is left out (``FlagSpec`` fills it in)."""
    name = flag["name"]
    own = [name] if name in options else []
    fields = own if flag.get("refuses") == "true" and not flag["fields"] else flag.get("fields", own)
    usual: Facts = {"fields": [name], "compile_option": True, "refuses": None, "values": None, "undefined": None}
    state = {"default": flag["default"], "fields": fields}
    state |= {key: flag[key] for key in ("values", "refuses", "undefined", "compile_option") if key in flag}
    if re.search(DEPRECATED, flag["help"]):
        state["deprecated"] = True
    if "effective" in flag:
        state["effective"] = False if flag["effective"] is None else flag["effective"]
    return {key: value for key, value in state.items() if usual.get(key, ...) != value}


def _changes(releases: Iterable[str], states: Mapping[str, Facts | None]) -> History:
    """[[release, what is new from then on]]: a null key goes back to the usual, a null says that the flag is gone."""
    history: History = []
    before: Facts | None = None
    for release in releases:
        now = states[release]
        if now != before:
            history.append([release, None if now is None else _delta(before or {}, now)])
        before = now
    return history


def _delta(before: Facts, now: Facts) -> Facts:
    return {key: now.get(key) for key in sorted({*before, *now}) if now.get(key) != before.get(key)}


def _lives(jaxlib: Mapping[str, Facts]) -> dict[str, History]:
    """Fields of DebugOptions that no flag of that name sets, names for ``compiler_options`` only: [[release, there]]."""
    bare = {r: set(f["options"]) - {flag["name"] for flag in f["flags"]} for r, f in jaxlib.items()}
    return {name: _life(name, bare) for name in sorted(set().union(*bare.values()))}


def _life(name: str, bare: Mapping[str, set[str]]) -> History:
    history = _changes(bare, {release: {} if name in names else None for release, names in bare.items()})
    return [[release, there is not None] for release, there in history]


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
