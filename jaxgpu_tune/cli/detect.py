"""``jaxgpu-tune detect``."""

from __future__ import annotations

import click

from .options import json_option
from .output import print_json

__all__ = ["command"]


@click.command("detect")
@json_option
def command(as_json: bool) -> None:
    """Show what is here: GPUs, driver, packages, processes. The JSON serves as JAXGPU_TUNE_MACHINE and --machine."""
    from ..api import detect
    from ..render.parts import machine_facts

    machine = detect()
    if as_json:
        print_json(machine.to_dict())
    else:
        click.echo("\n".join(machine_facts(machine)))
