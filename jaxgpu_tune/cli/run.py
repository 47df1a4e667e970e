"""``jaxgpu-tune run PRESET -- COMMAND…``."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from .environment import planned
from .options import plan_arguments, plan_options
from .output import print_json, tell

__all__ = ["command"]

NOT_FOUND, NOT_EXECUTABLE = 127, 126


@click.command("run", context_settings={"ignore_unknown_options": False})
@plan_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON on stderr before the start.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
def command(preset: str, program: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Run COMMAND with what PRESET sets in its environment.

    COMMAND takes this process's place: its signals, exit code and arguments are its own. Exit code 127
    if there is no such command, 126 if it cannot be executed.
    """
    report, final = planned(preset, plan_arguments(given), here=True)
    if as_json:
        print_json(report.to_dict(), err=True)
    else:
        tell(report.findings)
    _become(program, final)


def _become(program: tuple[str, ...], environ: dict[str, str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(program[0], program, environ)
    except OSError as error:
        click.echo(f"jaxgpu-tune: {program[0]}: {error.strerror}", err=True)
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        click.get_current_context().exit(NOT_FOUND if missing else NOT_EXECUTABLE)
