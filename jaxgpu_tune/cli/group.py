"""The command line in click: help, completion, and what is wrong with a command line. Built from the commands' data."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from . import COMMANDS
from .options import PLAN, plan_arguments
from .output import finish, library_version
from .parameters import Argument, Option

__all__ = ["group", "magic"]

COMPLETION = """\b
Completion of commands and options, for bash (zsh and fish alike):
  eval "$(_JAXGPU_TUNE_COMPLETE=bash_source jaxgpu-tune)"
  _JAXGPU_TUNE_COMPLETE=fish_source jaxgpu-tune | source"""
LATE = Option(
    "late", "--late", "text", "If the backend has started: raise (default), or apply what can be.", "raise|warn"
)


class LazyGroup(click.Group):
    """Imports a command's module when that command is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names, in order."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        return _command(cmd_name) if cmd_name in COMMANDS else None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=COMPLETION)
@click.version_option(library_version())
def group() -> None:
    """Set up JAX on NVIDIA GPUs: XLA flags, environment variables and jax.config options, each with its reason.

    Exit code: 0 fine, 1 findings of severity error, 2 wrong use. Every command takes --json. Output is plain where it
    is piped or NO_COLOR is set, and as wide as the terminal (or COLUMNS).
    """


def _command(name: str) -> click.Command:
    module = import_module(f".{name}", __package__)

    @click.pass_context
    def call(context: click.Context, /, **given: Any) -> None:
        context.exit(finish(module.command, given))

    takes_anything = any(isinstance(p, Argument) and p.many and not p.required for p in module.PARAMETERS)
    return click.Command(
        name,
        callback=call,
        params=[_parameter(parameter) for parameter in module.PARAMETERS],
        help=module.command.__doc__,
        short_help=module.command.__doc__.split("\n")[0],
        epilog=_examples(module.EXAMPLES),
        context_settings={"ignore_unknown_options": takes_anything},
    )


def _parameter(given: Option | Argument) -> click.Parameter:
    if isinstance(given, Argument):
        many: dict[str, Any] = {"nargs": -1, "type": click.UNPROCESSED} if given.many else {"default": given.default}
        return click.Argument([given.name], metavar=given.metavar, required=given.required, **many)
    spelled = f"{given.spelled}/--no-{given.spelled[2:]}" if given.kind == "on_off" else given.spelled
    more: dict[str, Any] = {"metavar": given.metavar} if given.metavar else {}
    if given.kind == "switch":
        more["is_flag"] = True
    elif given.kind == "number":
        more["type"] = int
    elif given.choices:
        more |= {"type": click.Choice(given.choices), "show_default": given.default is not None}
    many_times = given.kind == "many"
    default = {} if many_times or given.kind == "switch" else {"default": given.default}
    return click.Option([given.name, spelled], help=given.help, multiple=many_times, **default, **more)


def _examples(examples: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(
        ["\b", "Examples:", *(line for command, does in examples for line in (f"  # {does}", f"  {command}"))]
    )


def _magic(preset: str, **given: Any) -> dict[str, Any]:
    return {"preset": preset, **plan_arguments(given)}


magic = click.Command(
    "jaxgpu_tune",
    callback=_magic,
    params=[_parameter(parameter) for parameter in (*PLAN, LATE)],
    help="Set up JAX in this kernel, before the first use of a device.",
)
