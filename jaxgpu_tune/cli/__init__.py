"""The command line: one short function a command, each in its own module, imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from ..errors import JaxGpuTuneError

__all__ = ["COMMANDS", "main"]

COMMANDS = ("run", "env", "check", "explain", "flags", "migrate", "presets", "detect")
"""In the order of the help; each is the function ``command`` of the module of its name."""


class LazyGroup(click.Group):
    """Imports a command's module when that command is asked for, and turns this library's errors into exit codes."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names, in order."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A wrong argument exits with 2, any other error of this library with 1."""
        try:
            return super().invoke(ctx)
        except JaxGpuTuneError as error:
            click.echo(f"jaxgpu-tune: {error}", err=True)
            ctx.exit(2 if isinstance(error, ValueError) else 1)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="jaxgpu_tune")
def main() -> None:
    """Set up JAX on NVIDIA GPUs: XLA flags, environment variables and jax.config options, each with its reason.

    Exit code: 0 fine, 1 findings of severity error, 2 wrong use.
    """
