"""``jaxgpu-tune explain NAME``."""

from __future__ import annotations

import click

from .options import json_option
from .output import print_json

__all__ = ["command"]


@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.option("--jaxlib", metavar="VERSION", help="For this jaxlib instead of the installed one.")
@json_option
@click.argument("name", type=click.UNPROCESSED)
def command(name: str, jaxlib: str | None, as_json: bool) -> None:
    """Tell all that is known of NAME: an XLA flag (with or without dashes), a variable or a jax.config option."""
    from ..api import explain

    explanation = explain(name, jaxlib)
    if as_json:
        print_json(explanation.to_dict())
    else:
        click.echo(str(explanation))
