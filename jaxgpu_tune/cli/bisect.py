"""``jaxgpu-tune bisect -- COMMAND…``."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from ..wording import bad_argument, counted, took
from .measuring import METRIC, SECONDS, WHOLE, all_of, check_regex, end_as_by_ctrl_c, how_of, share
from .output import INTERRUPTED, print_json, say, show
from .parameters import COMMAND, JSON, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..measure.search.trials import Trial
    from ..measure.tuning.bisect import Symptom
    from ..measure.tuning.how import How
    from ..measure.tuning.suspects import Suspects


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Option("text", "--flags", "text", "Suspect the flags of this text (default: those of XLA_FLAGS).", "TEXT"),
    Option("preset", "--preset", "text", "Suspect the settings of this preset.", "NAME|FILE", completes="preset"),
    Option("old", "--from-jaxlib", "text", "Suspect the defaults that changed since this release.", "VERSION"),
    Option("fails", "--fails", "switch", "Look for what makes it fail in any way (this is the default)."),
    Option("nan", "--nan", "switch", "Look for what makes its numbers NaN or infinite."),
    Option("slower", "--slower", "text", "Look for what makes it slower by so much, such as 5%.", "SHARE"),
    Option("exit_with", "--exit", "number", "Look for what makes it exit with this code.", "N"),
    Option("output", "--output", "text", "Look for what makes its output match this.", "REGEX"),
    Option("folder", "--folder", "text", "Where the runs are kept.", "FOLDER", default="bisect.runs"),
    SECONDS,
    WHOLE,
    *METRIC,
    Option("numbers", "--numbers", "text", "The numbers that --nan looks at (default: each loss).", "REGEX"),
    Option("timeout", "--timeout", "text", "A run that takes longer hangs.", "5m"),
    JSON,
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune bisect -- python train.py", "which of the flags in XLA_FLAGS make it fail"),
    ("jaxgpu-tune bisect --slower 5% --preset fsdp -- python train.py", "which of a preset's settings cost time"),
    (
        "jaxgpu-tune bisect --nan --from-jaxlib 0.5.3 -- python train.py",
        "which changed default breaks it since an upgrade",
    ),
)


def command(program: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Find the smallest set of settings under which COMMAND fails, hangs, goes NaN or is slower.

    The suspects are the flags of XLA_FLAGS, unless an option names others. They are halved as long as one half alone shows
    the fault, then left out one by one. What is found is run again to confirm it. Each run is ended once enough steps were
    measured. Started again, it goes on.

    Exit code 1 if nothing was found, or it was not confirmed.
    """
    from ..measure.tuning.bisect import bisect_command

    symptom, how, suspects = all_of(
        lambda: _symptom(given), lambda: how_of(program, given, Path(given["folder"])), lambda: _suspects(given)
    )
    say(f"{counted(len(suspects.parts), 'suspect')}; looking for: {symptom.sentence}", sys.stderr)
    end_as_by_ctrl_c()
    try:
        found = bisect_command(suspects, how, symptom, partial(_line, suspects, how))
    except KeyboardInterrupt:
        say("Interrupted; every finished run is kept, and started again it goes on.", sys.stderr)
        return INTERRUPTED
    if as_json:
        print_json(found.report)
    else:
        show(f"{found}\nEvery run: {found.report['folder']}")
    return 0 if found.guilty and found.confirmed else 1


def _line(suspects: Suspects, how: How, trial: Trial, said: str) -> None:
    what = trial.failure or ("" if trial.ms is None else took(trial.ms, how._asdict()))
    which = f"{len(trial.config)} of them: {suspects.said(sorted(trial.config))}" if trial.config else "none of them"
    say(f"{said:>16}  {what:>14}  {which}", sys.stderr)
    sys.stderr.flush()


def _symptom(given: dict[str, Any]) -> Symptom:
    from ..measure.tuning.bisect import Symptom

    symptoms = ("fails", "nan", "slower", "exit_with", "output")
    asked = [name for name in symptoms if given[name] is not None and given[name] is not False]  # --exit 0 is one
    if len(asked) > 1:
        raise bad_argument("Several symptoms are named.", "Give one of --fails, --nan, --slower, --exit and --output.")
    if given["slower"] is not None:
        slower = share(given["slower"])
        if not 0 < slower < (100 if "%" in given["slower"] else 1):  # a 5 alone would be 500 %
            raise bad_argument(f"--slower {given['slower']!r} is not valid; allowed: a share such as 5%, 0.05 or 500%.")
        return Symptom("slower", slower)
    if given["exit_with"] is not None:
        return Symptom("exit", given["exit_with"])
    if given["output"] is not None:
        check_regex("--output", given["output"])
        return Symptom("output", given["output"])
    return Symptom("nan" if given["nan"] else "fails")


def _suspects(given: dict[str, Any]) -> Suspects:
    from ..arms import environ_of
    from ..measure.tuning.suspects import of_flags, of_preset, of_upgrade
    from ..measure.tuning.tune import SearchWanted, space_here
    from ..planning.request import make_request

    named = [name for name in ("text", "preset", "old") if given[name] is not None]
    if len(named) > 1:
        raise bad_argument("Several kinds of suspects are named.", "Give one of --flags, --preset and --from-jaxlib.")
    environ = environ_of("none", os.environ)[1]
    presets = (given["preset"],) if given["preset"] is not None else ()
    space = space_here(make_request(), SearchWanted(presets=presets, only=True), environ)
    if given["old"] is not None:
        from .release import release_of

        return of_upgrade(space, release_of(given["old"], exact=True))
    if given["preset"] is not None:
        return of_preset(space, given["preset"])
    return of_flags(space, os.environ.get("XLA_FLAGS", "") if given["text"] is None else given["text"])
