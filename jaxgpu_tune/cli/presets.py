"""``jaxgpu-tune presets``."""

from __future__ import annotations

import click

from .options import json_option
from .output import print_json

__all__ = ["command"]


@click.command("presets")
@json_option
def command(as_json: bool) -> None:
    """List the presets: those measured by this project ("maintained") and others' recipes ("published")."""
    from ..api import presets
    from ..render.table import table
    from ..render.text import terminal_width

    found = presets()
    if as_json:
        print_json(found)
        return
    rows = [("preset", "kind", "what for"), *((preset.name, preset.kind, preset.summary) for preset in found)]
    click.echo("\n".join(table(rows, terminal_width())))
