"""A plan's settings in the language of ``jax.jit(compiler_options=)``: other names, typed values, lists that replace.

Facts: semantics 4; XLA's ``pjrt_executable.cc`` sets DebugOptions fields by their exact names, takes
Python bools and ints as they are, enum members by their full proto names, and refuses a float that is not positive
unless it comes as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..knowledge import flags as known
from ..knowledge.flag_spec import FlagSpec
from ..knowledge.specifier import matches
from ..model import Decision, Report
from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["compile_options"]

LEVEL_OPTION, LEVEL_NAME = "jax_optimization_level", "optimization_level"
LEVELS = {"O0": 9, "O1": 19, "O2": 29, "O3": 39}
LEVELS_BY_NAME_SINCE = "0.11.1"
OURS = ("set", "merged")
JITTED_SINCE = "0.4.36"


def compile_options(report: Report, target: Target) -> dict[str, Any]:
    """What of a plan acts per compile: the flags that it sets, and the optimization level; inherited ones act already."""
    if not target.jaxlib or not matches(f">={JITTED_SINCE}", target.jaxlib):
        return {}
    ours = [d for d in report.decisions if d.kind == "xla_flag" and d.status in OURS]
    return {**_flags(ours, target), **_level(report.jax_config, target)}


def _flags(decisions: Iterable[Decision], target: Target) -> dict[str, Any]:
    specs = [(decision, target.flag(decision.name)) for decision in decisions]
    return {d.name: _value(spec, d.value or "") for d, spec in specs if spec is not None and spec.compile_option}


def _value(spec: FlagSpec, text: str) -> Any:
    if spec.type in ("bool", "int32", "int64"):
        return known.canonical(spec, text)
    if spec.type == "float":
        number = float(text)
        return number if number > 0 else text
    return _full_names(spec, text) if spec.names else text


def _full_names(spec: FlagSpec, text: str) -> str:
    full = {member.upper(): name for member, name in zip(spec.members, spec.names, strict=True)}
    items = [item.strip() for item in text.split(",") if item.strip()]
    return ",".join(full.get(_bare(item, spec).upper(), item) for item in items)


def _bare(item: str, spec: FlagSpec) -> str:
    return item[len(spec.prefix) :] if spec.prefix and item.upper().startswith(spec.prefix.upper()) else item


def _level(options: Mapping[str, Any], target: Target) -> dict[str, Any]:
    level = options.get(LEVEL_OPTION)
    if level not in LEVELS or not target.jaxlib:
        return {}
    return {LEVEL_NAME: level if matches(f">={LEVELS_BY_NAME_SINCE}", target.jaxlib) else LEVELS[level]}
