"""The arguments of ``configure()`` as options of a command line, shared by the commands and the notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..wording import bad_argument
from .output import OLDER
from .parameters import Argument, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Machine


__all__ = ["JAXLIB", "LAYER_BYTES", "MACHINE", "PLAN", "machine_named", "mapping", "plan_arguments"]

SETTINGS = {"flags": ("flag",), "env": ("env", "variable"), "jax_config": ("config",)}
"""Arguments that are mappings, each filled by ``--flag NAME=VALUE`` and ``--no-flag NAME``; an older spelling comes last."""
_WHAT = {
    "flag": "Set an XLA flag",
    "env": "Set an environment variable",
    "config": "Set a jax.config option",
    "variable": "Older spelling of --env",
}
JSON_VALUES = ("config", "try-config")
"""Options whose values are read as JSON where they can be."""
_PAIRED = frozenset(name for options in SETTINGS.values() for option in options for name in (option, f"no_{option}"))

JAXLIB = Option("jaxlib", "--jaxlib", "text", "For this jaxlib instead of the installed one.", "VERSION")
MACHINE = Option("machine", "--machine", "text", "For this machine (JSON, as `detect --json` writes it).", "FILE")
LAYER_BYTES = Option(
    "layer_bytes",
    "--layer-bytes",
    "number",
    "Bytes of one layer's weights, as sent between GPUs: sizes how much is sent at once.",
    "BYTES",
)
PLAN: tuple[Option | Argument, ...] = (
    Argument("preset", "[PRESET]", default="auto", completes="preset"),
    *(
        option
        for name, what in _WHAT.items()
        for option in (
            Option(
                name, f"--{name}", "many", f"{what}; may be repeated.", "NAME=VALUE", completes=OLDER.get(name, name)
            ),
            Option(
                f"no_{name}",
                f"--no-{name}",
                "many",
                f"{what.replace('Set', 'Remove')}; may be repeated.",
                "NAME",
                completes=OLDER.get(name, name),
            ),
        )
    ),
    Option("memory_fraction", "--memory-fraction", "text", "Share of the GPU's memory for JAX.", "FRACTION|auto"),
    Option("preallocate", "--preallocate", "on_off", "Take that memory at the start, or as needed."),
    Option("allocator", "--allocator", "text", "Allocator of GPU memory, such as cuda_async.", "NAME"),
    Option("processes_per_gpu", "--processes-per-gpu", "number", "Processes that share a GPU's memory.", "N"),
    Option(
        "transfer_guard",
        "--transfer-guard",
        "text",
        "allow, log, disallow, log_explicit or disallow_explicit.",
        "LEVEL",
    ),
    Option("compilation_cache", "--compilation-cache", "text", "Keep compiled programs in this folder.", "FOLDER"),
    Option("cuda_graphs", "--cuda-graphs", "on_off", "CUDA graphs (XLA's command buffers) on or off."),
    Option(
        "pgle",
        "--pgle",
        "text",
        "Schedule by a profile: a file; auto: JAX takes one; expect: its cache has the result.",
        "auto|expect|PROFILE",
    ),
    LAYER_BYTES,
    Option("platform", "--platform", "text", "Set JAX_PLATFORMS; with cpu nothing is set for GPUs.", "cpu|cuda"),
    Option("devices", "--devices", "number", "How many GPUs the whole job uses, if not all that are visible.", "N"),
    Option("prefer", "--prefer", "text", "Who wins: what is set already (default), or the preset.", "existing|preset"),
    Option("strict", "--strict", "switch", "Fail on conflicts, and on unknown flags that are set."),
    Option("unmeasured", "--unmeasured", "switch", "Also set what was measured on other GPUs only."),
    Option(
        "probe", "--probe", "on_off", "Ask the installed jaxlib for its flags, or never (default: if no table has it)."
    ),
    MACHINE,
)


def plan_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of ``configure()``, or of ``plan()``, for what the options gave; what was not given is left out.

    Raises BadSetting for a setting without a value and for a machine file that cannot be used.
    """
    found = {name: value for name, value in given.items() if value != _ABSENT.get(name) and name not in _PAIRED}
    for argument, options in SETTINGS.items():
        wanted: dict[str, Any] = {}
        for option in reversed(options):
            wanted |= mapping(given.get(option, ()), option) | dict.fromkeys(given.get(f"no_{option}", ()))
        if wanted:
            found[argument] = wanted
    if "memory_fraction" in found:
        found["memory_fraction"] = _fraction(found["memory_fraction"])
    if "machine" in found:
        found["machine"] = machine_named(found["machine"])
    return found


def machine_named(file: str) -> Machine:
    """The machine of ``--machine``. Raises BadSetting for a file that cannot be used."""
    from ..host.detect import machine_of_file

    return machine_of_file(file, f"--machine {file!r}")


_ABSENT = {parameter.name: parameter.absent for parameter in PLAN}


def mapping(pairs: Iterable[str], option: str) -> dict[str, Any]:
    """What ``--option NAME=VALUE`` gave, each time it was given. Raises BadSetting for one without a value."""
    found: dict[str, Any] = {}
    for text in pairs:
        name, equals, value = text.partition("=")
        if not equals:
            raise bad_argument(
                f"--{option} {text!r} has no value.", f"Write --{option} {text}=VALUE (VALUE may be empty)."
            )
        found[name] = _typed(value) if option in JSON_VALUES else value
    return found


def _typed(text: str) -> Any:
    """A jax.config option's value: what JSON reads (true, 3, null), otherwise the text itself."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fraction(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
