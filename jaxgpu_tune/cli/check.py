"""``jaxgpu-tune check [TEXT]``."""

from __future__ import annotations

import click

from .options import json_option
from .output import exit_by, print_json

__all__ = ["command"]


@click.command("check", context_settings={"ignore_unknown_options": True})
@click.option("--jaxlib", metavar="VERSION", help="For this jaxlib instead of the installed one.")
@json_option
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
def command(text: tuple[str, ...], jaxlib: str | None, as_json: bool) -> None:
    """Say what is wrong with TEXT as XLA_FLAGS (default: the environment's), and what to write instead."""
    from ..api import check
    from ..render.text import findings_text

    findings = check(" ".join(text) if text else None, jaxlib)
    if as_json:
        print_json(findings)
    else:
        click.echo(findings_text(findings) or "Nothing is wrong.")
    exit_by(findings)
