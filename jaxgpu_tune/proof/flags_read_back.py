"""Whether each XLA flag holds in the options that XLA really compiles with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from ..knowledge.compile_surface import JAX_SETS, JAXLIB_SETS, PROCESS_WIDE
from ..knowledge.flag_spec import FlagSpec
from ..knowledge.flag_values import on_top
from ..planning.release.compile_options import fields_written
from ..planning.release.target import Target
from ..planning.xla_flags.grammar import FLAGS
from ..values import Value
from ..wording import setting_text
from .verification import Verified
from .wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .verification import ProofStatus

    Options = Mapping[str, Any]


__all__ = ["PLATFORM_MISFIT", "OptionsReadBack", "agree", "shown_option", "verified_flag"]

JAXLIB_READS = "xla_force_host_platform_device_count"
"""The one process-wide flag that is not the plugin's: jaxlib's own CPU client reads it."""
EVERY = "ALLCOLLECTIVES"
"""The member of a list that XLA writes out as all the others."""
GPU_ONLY = "xla_gpu_"
PLATFORM_MISFIT = "JAX runs on the CPU, where nothing reads it"


class OptionsReadBack(Value):
    """What was read back of XLA's options.

    ``parsed``: what jaxlib made of XLA_FLAGS; ``compiled``: the same after jax edited it; ``plugin``: asks for the plugin's
    own. ``now``: the flags that XLA_FLAGS holds at this moment.
    """

    target: Target
    platform: str
    parsed: Options | None
    compiled: Options | None
    plugin: Callable[[], Options | None]
    now: Mapping[str, tuple[str, ...]]


def verified_flag(flag: Wanted, reading: OptionsReadBack) -> Verified:
    """The flag with what became of it."""
    expected = _expected(flag, flag.values, reading.target)
    options = _options_of(flag.name, reading)
    found = None if options is None or not expected else ", ".join(shown_option(options[field]) for field in expected)
    status, why = _status(flag, expected, reading, options)
    return Verified("xla_flag", flag.name, flag.text, status, why, found)


def _status(
    flag: Wanted, expected: Options, reading: OptionsReadBack, options: Options | None
) -> tuple[ProofStatus, str]:
    if flag.late:
        return "ignored", flag.late
    holds = None if options is None or not expected else _hold(expected, options, reading.target)
    if reading.now.get(flag.name, ()) != flag.values:
        return "overwritten", _overwritten(flag, reading, options, holds)
    unread = _unread(flag.name, reading)
    if unread:
        return "ignored", unread
    if holds is None:
        return "unreadable", _unreadable(flag.name, options, reading.target)
    return ("effective", "XLA's options hold it") if holds else _why_not(flag, expected, reading)


def _unread(name: str, reading: OptionsReadBack) -> str:
    """Why nothing comes of a flag whatever its value; empty if something reads it."""
    spec = reading.target.flag(name)
    if name.startswith(GPU_ONLY) and reading.platform == "cpu":
        return PLATFORM_MISFIT
    if spec is not None and not spec.fields and name != "xla_fuel":
        return f"{reading.target.label} takes it and does nothing with it"
    return ""


def _overwritten(flag: Wanted, reading: OptionsReadBack, options: Options | None, holds: bool | None) -> str:
    now = reading.now.get(flag.name, ())
    became = f"to {' '.join(now)!r}" if now else "so that it is gone"
    start = f"{FLAGS} was changed after configure(), {became}"
    if holds:
        return f"{start}; what was applied holds, since XLA had read it before"
    changed = _expected(flag, now, reading.target)
    if holds is False and options is not None and changed and _hold(changed, options, reading.target):
        return f"{start}, and the change is what took effect"
    return f"{start}; {'what took effect cannot be told' if holds is None else 'what was applied did not take effect'}"


def _why_not(flag: Wanted, expected: Options, reading: OptionsReadBack) -> tuple[ProofStatus, str]:
    """Another flag of the text, jax itself, or too late: in the order in which they can be told."""
    rivals = [name for name in reading.now if name != flag.name and _writes(name, expected, reading)]
    if rivals and any(_adds(name, reading) for name in (flag.name, *rivals)):
        return "unreadable", f"--{rivals[-1]} writes the same list, and what they leave of it together is not known"
    if rivals:
        return "overridden", f"--{rivals[-1]}={' '.join(reading.now[rivals[-1]])} decides the same thing"
    if flag.name in JAXLIB_SETS or (reading.parsed is not None and _hold(expected, reading.parsed, reading.target)):
        culprit = JAX_SETS.get(flag.name, "jax")
        return "overridden", f"XLA had read it, and {culprit} sets it otherwise for every compile"
    if flag.name not in expected:
        return "unreadable", f"it writes {', '.join(expected)}, in a way that is not known"
    return "ignored", f"XLA had read {FLAGS} before it held this"


def _writes(name: str, fields: Options, reading: OptionsReadBack) -> bool:
    spec = reading.target.flag(name)
    return spec is not None and not set(spec.fields).isdisjoint(fields)


def _adds(name: str, reading: OptionsReadBack) -> bool:
    """Whether a flag adds to a list, or takes away from it, where others replace it: ``+X``, or a switch for one member."""
    spec = reading.target.flag(name)
    lists = [reading.target.flag(field) for field in spec.fields] if spec is not None else []
    if spec is None or not any(owner is not None and owner.incremental for owner in lists):
        return False
    return spec.form == "bool" or any(on_top(spec, "", text) != text for text in reading.now.get(name, ()))


def _options_of(name: str, reading: OptionsReadBack) -> Options | None:
    """The options that decide about a flag: those of a compile, or the plugin's own for what it reads once."""
    if reading.platform != "cpu" and name in PROCESS_WIDE and name != JAXLIB_READS:
        return reading.plugin()
    return reading.compiled if reading.compiled is not None else reading.parsed


def _expected(flag: Wanted, values: tuple[str, ...], target: Target) -> Options:
    """The fields that it is to write, with their values; empty where that is not known. No values: the default's."""
    spec = target.flag(flag.name)
    if spec is None or spec.undefined or (not values and spec.effective is None):
        return {}
    try:
        return fields_written(flag.name, _together(spec, values), target)
    except ValueError:
        return {}


def _together(spec: FlagSpec, values: tuple[str, ...]) -> str:
    """One text with the effect of all occurrences; without any, the default's."""
    if not values:
        return spec.effective or ""
    return reduce(partial(on_top, spec), values) if spec.repeat == "last" else (spec.separator or ",").join(values)


def _unreadable(name: str, options: Options | None, target: Target) -> str:
    spec = target.flag(name)
    if spec is not None and spec.undefined:
        return f"{target.label} writes its value to an undefined place in memory"
    if options is not None:
        return "no field of XLA's options is known to tell it"
    owner = "the CUDA plugin" if name in PROCESS_WIDE else "this jaxlib"
    return f"{owner} does not tell what it made of {FLAGS}; it still holds what was applied"


def _hold(expected: Options, found: Options, target: Target) -> bool:
    return all(field in found and agree(value, found[field], target.flag(field)) for field, value in expected.items())


def agree(expected: Any, found: Any, spec: FlagSpec | None) -> bool:
    """Whether a value in the language of compile options is in a decoded field. To lists that add up jax adds its own."""
    adds_up = spec is not None and spec.repeat != "last"
    if isinstance(found, (list, dict)):
        wanted = expected.split(",") if expected else []
        there = [f"{key}={item}" for key, item in found.items()] if isinstance(found, dict) else found
        if EVERY in wanted and len(there) > 1:
            return True
        missing = set(wanted) - set(map(str, there))
        return not missing and (adds_up or len(wanted) == len(there))
    if isinstance(found, float):
        return float(expected) == found or str(float(expected)) == str(found)
    if isinstance(found, str):
        return str(expected).lower() == found.lower()  # XLA turns some texts into capitals
    return bool(expected == found)


def shown_option(value: Any) -> str:
    """A value that was read back, as one would write it."""
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return setting_text(value)
