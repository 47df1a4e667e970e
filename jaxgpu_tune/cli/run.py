"""``jaxgpu-tune run PRESET -- COMMAND…``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import Any

from ..errors import BadSetting, UnknownPreset
from ..host.marker import pinned
from ..model import Finding, Report
from ..planning.xla_flags.grammar import FLAGS
from ..wording import bad_argument
from .call_options import PLAN, plan_arguments
from .environment import planned
from .output import print_json, say, tell
from .parameters import COMMAND, Argument, Option

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

NOT_FOUND, NOT_EXECUTABLE = 127, 126
PARAMETERS = (
    Argument("preset", "PRESET", required=True, completes="preset"),
    *PLAN[1:],
    Option("pin", "--pin", "switch", "Let no configure() in COMMAND change anything; it reports."),
    Option("verbose", "-v", "switch", "Print the plan on stderr before the start."),
    Option("as_json", "--json", "switch", "Print the plan as JSON on stderr before the start."),
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune run fsdp -- python train.py --steps 100", "any program, unchanged"),
    ("srun jaxgpu-tune run fsdp -- python train.py", "each process of a job plans for itself"),
)


def command(preset: str | None, program: tuple[str, ...], pin: bool, verbose: bool, as_json: bool, **given: Any) -> int:
    """Run COMMAND with what PRESET sets in its environment.

    PRESET: a name that `jaxgpu-tune presets` lists, several joined by +, or the path of a TOML file.

    COMMAND takes this process's place: its signals, exit code and arguments are its own. Exit code 127
    if there is no such command, 126 if it cannot be executed.
    """
    if preset is None:
        raise _unnamed("No preset is given.", program)
    try:
        report, final = planned(preset, plan_arguments(given), "jaxgpu-tune run", here=True)
    except UnknownPreset:
        if not shutil.which(preset):
            raise
        raise _unnamed(f"{preset!r} is a command, no preset.", (preset, *program)) from None
    if as_json:
        print_json(report.to_dict(), sys.stderr)
    elif verbose:
        say(str(report), sys.stderr)
    else:
        tell(report.findings)
    tell(_overwritten(report, program))
    return _become(program, pinned(final) if pin else final)


def _overwritten(report: Report, program: tuple[str, ...]) -> list[Finding]:
    """That the script sets XLA_FLAGS itself, or no longer does: nobody watches it, so it is told before the start."""
    script = next((word for word in program[1:] if word.endswith(".py")), None)
    flags = report.environ.get(FLAGS)
    if not script or not flags:
        return []
    from ..measure.doubts import ADD, settings_overwritten
    from ..planning.files.replaced import passed_over_at, replaced_at

    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            source = file.read()
    except OSError:  # told by who runs it
        return []
    if line := replaced_at(source):
        problem = f"{script}, line {line}, sets {FLAGS} itself, which drops {flags}"
        return [settings_overwritten(report.preset, problem)]
    line = None if report.inputs["environ"].get(FLAGS) else passed_over_at(source)
    message = f"{script}, line {line}, sets {FLAGS} only where it is not set, and {report.preset} sets it: what stands there is passed over."
    return [] if line is None else [Finding("program-passes-over", "warning", message, ADD)]


def _unnamed(problem: str, program: tuple[str, ...]) -> BadSetting:
    return bad_argument(problem, f"Name a preset first: jaxgpu-tune run auto -- {shlex.join(program)}")


def _become(program: tuple[str, ...], environ: dict[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(program[0], program, environ)
    except OSError as error:
        say(f"jaxgpu-tune: {program[0]}: {error.strerror}", sys.stderr)
        return NOT_FOUND if isinstance(error, (FileNotFoundError, NotADirectoryError)) else NOT_EXECUTABLE
