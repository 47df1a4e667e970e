"""From what was read off one binary to what is worth saying of each of its flags."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .wheels import order

if TYPE_CHECKING:
    from collections.abc import Mapping

UNDEFINED = {"xla_gpu_enable_while_loop_unrolling": ("0.4.34", "0.9.0.1")}
"""Flag -> first and last release in which what a value does is chance, as the binaries' source tells, never as one run looked.

Up to then its setter holds a reference to an argument of the function that registers the flags, and writes through it long after
that function returned: ``[&debug_options]`` in https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc of that time.
"""

DEPRECATED = r"(?i)^\[?deprecated"
"""How the help text of a flag begins that XLA itself calls deprecated."""

Facts = dict[str, Any]


def states(facts: Facts, release: str) -> dict[str, Facts]:
    """Flag -> what is worth saying of it in this binary."""
    return {flag["name"]: _state(_certain(flag, release), facts["options"]) for flag in facts["flags"]}


def bare(facts: Facts) -> frozenset[str]:
    """Fields of DebugOptions that no flag of that name sets: names for ``compiler_options`` only."""
    return frozenset(facts["options"]) - {flag["name"] for flag in facts["flags"]}


def differences(ours: Mapping[str, Facts], plugin: Facts, release: str) -> Facts:
    """Flag -> what the plugin has otherwise than ``ours``, the jaxlib of the same release (null: has no such flag)."""
    theirs = states(plugin, release)
    tried = {flag["name"] for flag in plugin["flags"] if "fields" in flag}
    found = {name: _other(ours.get(name), theirs.get(name), name in tried) for name in sorted({*ours, *theirs})}
    return {name: other for name, other in found.items() if other != {}}


def _other(ours: Facts | None, theirs: Facts | None, tried: bool) -> Facts | None:
    if theirs is None or ours is None:
        return theirs
    keys = sorted({*ours, *theirs}) if tried else ["default"]
    return {key: theirs.get(key) for key in keys if theirs.get(key) != ours.get(key)}


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
