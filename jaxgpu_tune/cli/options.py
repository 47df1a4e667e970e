"""The arguments of ``configure()`` as options of a command line, shared by the commands and the notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

__all__ = ["json_option", "magic", "plan_arguments", "plan_options"]

Command = TypeVar("Command", bound=Callable[..., Any])
SETTINGS = {"flags": "flag", "env": "variable", "jax_config": "config"}
"""Arguments that are mappings, each filled by two options: ``--flag NAME=VALUE`` and ``--no-flag NAME``."""


def json_option(function: Command) -> Command:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def plan_options(function: Command) -> Command:
    """PRESET and an option for each argument of ``configure()`` that a plan depends on; read with ``plan_arguments``."""
    for decorate in reversed(_OPTIONS):
        function = decorate(function)
    return function


def plan_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of ``configure()`` for what the options gave; what was not given is left out."""
    found = {name: value for name, value in given.items() if value is not None and value != () and name not in _PAIRED}
    for argument, option in SETTINGS.items():
        wanted = _mapping(given[option], argument == "jax_config", option)
        wanted.update(dict.fromkeys(given[f"no_{option}"]))
        if wanted:
            found[argument] = wanted
    if "machine" in found:
        found["machine"] = _machine(found["machine"])
    return found


def _mapping(pairs: Iterable[str], typed: bool, option: str) -> dict[str, Any]:
    return dict(_pair(text, typed, option) for text in pairs)


def _pair(text: str, typed: bool, option: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} has no value; write --{option} {text}=VALUE (VALUE may be empty).")
    return name, _typed(value) if typed else value


def _typed(text: str) -> Any:
    """A jax.config option's value: what JSON reads (true, 3, null), otherwise the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _fraction(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _machine(path: str) -> Any:
    from ..model import Machine

    with open(path, encoding="utf-8") as file:
        try:
            return Machine.from_dict(json.load(file))
        except json.JSONDecodeError as error:
            raise click.BadParameter(f"{path} is not JSON: {error}.") from error


def _settings_options() -> Iterable[Callable[[Any], Any]]:
    for argument, option in SETTINGS.items():
        what = {"flags": "an XLA flag", "env": "an environment variable", "jax_config": "a jax.config option"}[argument]
        yield click.option(f"--{option}", multiple=True, metavar="NAME=VALUE", help=f"Set {what}; may be repeated.")
        yield click.option(f"--no-{option}", multiple=True, metavar="NAME", help=f"Remove {what}; may be repeated.")


_PAIRED = frozenset(name for option in SETTINGS.values() for name in (option, f"no_{option}"))
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("preset", default="auto"),
    *_settings_options(),
    click.option("--memory-fraction", callback=_fraction, metavar="FRACTION|auto", help="Share of each GPU's memory."),
    click.option("--preallocate/--no-preallocate", default=None, help="Take that memory at the start, or as needed."),
    click.option("--allocator", metavar="NAME", help="Allocator of GPU memory, such as cuda_async."),
    click.option("--processes-per-gpu", type=int, metavar="N", help="Processes that share a GPU's memory."),
    click.option("--transfer-guard", metavar="LEVEL", help="allow, log, disallow, log_explicit or disallow_explicit."),
    click.option("--compilation-cache", metavar="DIRECTORY", help="Keep compiled programs there."),
    click.option("--cuda-graphs/--no-cuda-graphs", default=None, help="XLA's command buffers on or off."),
    click.option("--pgle", metavar="auto|expect|PROFILE", help="Profile-guided latency estimation."),
    click.option("--layer-bytes", type=int, metavar="BYTES", help="One layer's weights as communicated."),
    click.option("--platform", metavar="cpu|cuda", help="Set JAX_PLATFORMS too; cpu: nothing for GPUs."),
    click.option("--devices", type=int, metavar="N", help="Devices of the whole job."),
    click.option("--prefer", metavar="existing|preset", help="Who wins: what is set already (default), or the preset."),
    click.option("--strict", is_flag=True, default=None, help="Conflicts and unknown inherited flags are errors."),
    click.option("--probe/--no-probe", default=None, help="Ask the installed binaries in a child process, or do not."),
    click.option("--machine", type=click.Path(exists=True, dir_okay=False), help="Plan for this machine (JSON)."),
)


@click.command("jaxgpu_tune")
@plan_options
@click.option("--late", metavar="raise|warn", help="If the backend has started: raise (default), or apply what can be.")
def magic(preset: str, **given: Any) -> dict[str, Any]:
    """Set up JAX in this kernel, before the first use of a device."""
    return {"preset": preset, **plan_arguments(given)}
