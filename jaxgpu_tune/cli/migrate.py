"""``jaxgpu-tune migrate --to VERSION [TEXT]``."""

from __future__ import annotations

import os

import click

from .options import json_option
from .output import exit_by, print_json, tell

__all__ = ["command"]


@click.command("migrate", context_settings={"ignore_unknown_options": True})
@click.option("--to", "release", metavar="VERSION", help="The jaxlib to write for; by default the installed one.")
@json_option
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
def command(text: tuple[str, ...], release: str | None, as_json: bool) -> None:
    """Print TEXT (default: the environment's XLA_FLAGS) in the words of another jaxlib; stdout is that text only."""
    from ..api import migrate

    found = migrate(" ".join(text) if text else os.environ.get("XLA_FLAGS", ""), release)
    if as_json:
        print_json(found)
    else:
        tell(found.findings)
        click.echo(found.xla_flags)
    exit_by(found.findings)
