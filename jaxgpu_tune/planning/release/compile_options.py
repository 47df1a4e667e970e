"""A plan's settings in the language of ``jax.jit(compiler_options=)``: other names, typed values, lists that replace.

XLA's ``pjrt_executable.cc`` sets DebugOptions fields by their exact names, takes
Python bools and ints as they are, enum members by their full proto names (since 0.6.0), and refuses a float that is not
positive unless it comes as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...knowledge import flags as known
from ...knowledge.compile_surface import ENUM_FIELDS, OTHER_NAMES, PROCESS_WIDE
from ...knowledge.flag_spec import FlagSpec
from ...knowledge.translations import rules
from ...knowledge.versions import matches
from ...model import Decision, Report
from ..xla_flags.grammar import scan
from .target import Target

__all__ = ["compile_options", "fields_written"]

Options = dict[str, Any]

LEVEL_OPTIONS = {"jax_optimization_level": "optimization_level", "jax_memory_fitting_level": "memory_fitting_level"}
EFFORT_OPTIONS = {
    "jax_exec_time_optimization_effort": "exec_time_optimization_effort",
    "jax_memory_fitting_effort": "memory_fitting_effort",
}
LEVELS = {"O0": 9, "O1": 19, "O2": 29, "O3": 39}
LEVELS_BY_NAME_SINCE = "0.11.1"
OURS = ("set", "merged")
UNDONE = ("default", "removed")
JITTED_SINCE = "0.4.36"
NAMES_SINCE = "0.6.0"
"""Before, a member of an enum could only be given as a number, and a list not at all (run on 0.4.38, 0.5.3, 0.6.0)."""
EMPTY_CLEARS_SINCE = "0.5.0"


def compile_options(report: Report, target: Target) -> Options:
    """What of a plan acts per compile: the flags that it sets, and the optimization level; inherited ones act already."""
    if not _since(JITTED_SINCE, target):
        return {}
    found: Options = {}
    for decision, text in _ours(report, target):
        found.update(_option(decision.name, text, target))
    return {**found, **_levels(report, target)}


def _ours(report: Report, target: Target) -> Iterator[tuple[Decision, str]]:
    """The flags that the plan sets, and those whose inherited value it takes back, with the value that is to hold."""
    inherited = {token.name for token in scan(report.inputs.get("environ", {}).get("XLA_FLAGS", "")).tokens}
    for decision in (d for d in report.decisions if d.kind == "xla_flag"):
        if decision.origin == "fault":
            continue  # these help together alone, and one of them acts on the whole process
        if decision.status in OURS:
            yield decision, decision.value or ""
        elif decision.status in UNDONE and decision.name in inherited:
            spec = target.flag(decision.name)
            if spec is not None and spec.effective is not None:
                yield decision, spec.effective


def _option(name: str, text: str, target: Target) -> Options:
    """One flag as it is said here; nothing if it acts on the whole process or cannot be said."""
    written = {} if name in PROCESS_WIDE else fields_written(name, text, target)
    return {field: value for field, value in written.items() if _can_be_said(field, value, target)}


def fields_written(name: str, text: str, target: Target) -> Options:
    """The fields of XLA's options that one flag writes, each with the value it gets; empty where that is not known."""
    specs = [spec for release in target.releases if (spec := known.flag(name, release)) is not None]
    if len(specs) < len(target.releases) or not specs:
        return {}
    if not all(spec.compile_option or spec.fields == (name,) for spec in specs):
        return _by_field(specs[0], text, target)
    return {} if specs[0].types else {name: _value(specs[0], text)}


def _by_field(spec: FlagSpec, text: str, target: Target) -> Options:
    """A flag that has no field of its own, by the field that it writes."""
    if spec.name in OTHER_NAMES:
        return _known_field(OTHER_NAMES[spec.name], known.canonical(spec, text), target)
    if spec.name in ENUM_FIELDS:
        field, members = ENUM_FIELDS[spec.name]
        return _known_field(field, members[bool(known.canonical(spec, text))], target)
    if len(spec.fields) == 1 and spec.fields[0] != spec.name and target.is_default(spec.name, text):
        owner = target.flag(spec.fields[0])
        return fields_written(owner.name, owner.effective, target) if owner and owner.effective is not None else {}
    return _by_rule(spec, text, target)


def _by_rule(spec: FlagSpec, text: str, target: Target) -> Options:
    """By the flags that a translation puts in its place, if they write the same fields."""
    for rule in rules("xla_flag", spec.name):
        settings = rule.settings(text) if rule.applies(text) else ()
        owners = [target.flag(name) for kind, name, _ in settings if kind == "xla_flag"]
        if owners and all(owner is not None and set(owner.fields) <= set(spec.fields) for owner in owners):
            found: Options = {}
            for _, name, value in settings:
                found.update(fields_written(name, value, target))
            return found
    return {}


def _known_field(field: str, value: Any, target: Target) -> Options:
    there = all(field in known.options_without_flag(release) for release in target.releases)
    return {field: value} if there else {}


def _can_be_said(field: str, value: Any, target: Target) -> bool:
    """Whether this release takes the field, members of enums by their names, or at least an empty list of them."""
    spec = target.flag(field)
    if field in PROCESS_WIDE or (spec is not None and not spec.compile_option):
        return False
    if isinstance(value, str) and (spec is None or spec.form in ("enum", "list")):
        clears = spec is not None and bool(spec.members) and spec.form == "list" and value == ""
        return _since(EMPTY_CLEARS_SINCE if clears else NAMES_SINCE, target)
    return True


def _value(spec: FlagSpec, text: str) -> Any:
    meant = known.canonical(spec, text)
    if spec.form in ("bool", "int32", "int64"):
        return meant
    if spec.form == "float":
        return meant if isinstance(meant, float) and 0 < meant < float("inf") else str(meant)
    if not spec.names:
        return text
    full = dict(zip(spec.members, spec.names, strict=True))
    if isinstance(meant, (tuple, list, frozenset, set)):
        return ",".join(full[member] for member in _in_order(meant, spec))
    return full[str(meant)]


def _in_order(members: Any, spec: FlagSpec) -> list[str]:
    """A list as it is written, a set in the order of XLA's enum: one text for one meaning."""
    return list(members) if isinstance(members, (tuple, list)) else [m for m in spec.members if m in members]


def _levels(report: Report, target: Target) -> Options:
    ours = {d.name for d in report.decisions if d.kind == "jax_config" and d.status in OURS}
    stated: Mapping[str, Any] = {name: value for name, value in report.jax_config.items() if name in ours}
    by_name = _since(LEVELS_BY_NAME_SINCE, target)
    levels = {
        option: stated[name] if by_name else LEVELS[stated[name]]
        for name, option in LEVEL_OPTIONS.items()
        if stated.get(name) in LEVELS
    }
    efforts = {option: float(stated[name]) for name, option in EFFORT_OPTIONS.items() if stated.get(name)}
    return {**levels, **efforts}


def _since(version: str, target: Target) -> bool:
    return target.jaxlib is not None and matches(f">={version}", target.jaxlib)
