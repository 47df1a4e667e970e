"""``jaxgpu-tune run PRESET -- COMMAND…``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import BadSetting, UnknownPreset
from ..host.marker import pinned
from ..model import Finding
from ..planning.xla_flags.grammar import FLAGS
from ..wording import bad_argument
from .call_options import PLAN, plan_arguments
from .environment import planned
from .output import print_json, say, tell
from .parameters import COMMAND, Argument, Option
from .text_files import unwarned

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
    told = (*report.findings, *_overwritten(report.preset, final.get(FLAGS, ""), program))
    report = report._replace(findings=told)
    if as_json:
        print_json(report.to_dict(), sys.stderr)
    elif verbose:
        say(str(report), sys.stderr)
    else:
        tell(report.findings)
    return _become(program, pinned(final) if pin else final)


def _overwritten(preset: str, flags: str, program: tuple[str, ...]) -> Iterator[Finding]:
    """That the script sets XLA_FLAGS itself, or no longer does: nobody watches it, so it is told before the start."""
    script = _script(program)
    before = os.environ.get(FLAGS, "")
    if not script or flags == before:
        return
    from ..measure.doubts import ADD, dropped_flags, settings_overwritten
    from ..planning.files.replaced import assigned_anew, passed_over_at

    try:
        with unwarned(), open(script, encoding="utf-8-sig", errors="replace") as file:
            source = file.read()
            found, line = assigned_anew(source), None if before else passed_over_at(source)
    except (OSError, RecursionError):  # who runs it tells that it cannot be read; what is nested deeply is not judged
        return
    lost = ", ".join(dropped_flags(flags, found.text, before)) if found else ""
    if found and lost:
        yield settings_overwritten(preset, f"{script}, line {found.at}, sets {FLAGS} itself, which drops {lost}")
    elif line:
        message = f"{script}, line {line}, sets {FLAGS} only where it is not set, and {preset} sets it: what stands there is passed over."
        yield Finding("program-passes-over", "warning", message, ADD)


def _script(program: tuple[str, ...]) -> str | None:
    """The Python script that a command starts, itself or by way of a launcher; None where that is not plain."""
    place = next((n for n, word in enumerate(program) if word.endswith(".py")), None)
    before = program[:place]
    starts = not before or any(os.path.basename(word).startswith("python") for word in before)
    return program[place] if place is not None and starts and not {"-c", "-m"} & {*before} else None


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
