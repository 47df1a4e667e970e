"""``jaxgpu-tune env PRESET --format …``."""

from __future__ import annotations

from typing import Any

import click

from ..render.shell import FORMATS, render_environ
from .environment import changes_of, planned
from .options import json_option, plan_arguments, plan_options
from .output import exit_by, tell

__all__ = ["command"]


@click.command("env")
@plan_options
@click.option("--jaxlib", metavar="VERSION", help="Plan for this jaxlib instead of the installed one.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="sh", show_default=True, help="For whom.")
@json_option
def command(preset: str, jaxlib: str | None, form: str, as_json: bool, **given: Any) -> None:
    """Print what PRESET sets, as code: eval "$(jaxgpu-tune env fsdp)".

    Findings go to stderr; stdout is code only.
    """
    arguments = plan_arguments(given)
    report, final = planned(preset, {**arguments, "jaxlib": jaxlib} if jaxlib else arguments)
    tell(report.findings)
    code = render_environ(changes_of(final), "json" if as_json else form)
    if code:
        click.echo(code)
    exit_by(report.findings)
