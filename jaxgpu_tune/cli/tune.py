"""``jaxgpu-tune tune -- COMMAND…``."""

from __future__ import annotations

import os
import sys
from itertools import count

from ..wording import bad_argument
from .call_options import LAYER_BYTES, mapping
from .measuring import METRIC, SECONDS, WHOLE, all_of, check_output, duration, end_as_by_ctrl_c, how_of, share
from .output import INTERRUPTED, print_json, say, show, tell
from .parameters import COMMAND, JSON, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..knowledge.candidates import Candidate
    from ..measure.search.search import Search
    from ..measure.tuning.drive import Tell
    from ..measure.tuning.how import How
    from ..measure.tuning.space import Space
    from ..measure.tuning.tune import Files
    from ..measure.tuning.tuned import Tuned
    from ..planning.request import Request


__all__ = ["EXAMPLES", "PARAMETERS", "SEARCHED", "command", "wanted_candidates"]

SEARCHED: tuple[Option, ...] = (
    Option("try_flag", "--try-flag", "many", "Try this XLA flag, too; may be repeated.", "NAME=VALUE"),
    Option("try_env", "--try-env", "many", "Try this environment variable, too; may be repeated.", "NAME=VALUE"),
    Option("try_config", "--try-config", "many", "Try this jax.config option, too; may be repeated.", "NAME=VALUE"),
)
PARAMETERS = (
    Option("budget", "--budget", "text", "Time for all of it, earlier starts included.", "20m", default="20m"),
    Option(
        "out",
        "--out",
        "text",
        "The preset file to write; report, page and runs go beside it.",
        "FILE",
        default="tuned.toml",
    ),
    Option(
        "preset", "--preset", "many", "Begin at this preset, too; may be repeated.", "NAME|FILE", completes="preset"
    ),
    *SEARCHED,
    Option("only", "--only", "switch", "Try nothing but what --preset and --try-… name."),
    Option("kinds", "--kind", "many", "What the program is like; its candidates come first; may be repeated.", "KIND"),
    SECONDS,
    Option("timeout", "--timeout", "text", "The longest that a run may take.", "5m"),
    *METRIC,
    WHOLE,
    Option("numbers", "--numbers", "text", "Numbers that must stay right (default: each loss).", "REGEX"),
    Option("tolerance", "--tolerance", "text", "By how much they may differ, relative.", "SHARE", default="0.01"),
    Option("alone", "--one-at-a-time", "switch", "Start no run before the one before it has ended."),
    LAYER_BYTES,
    JSON,
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune tune --budget 20m -- python train.py --steps 100000", "the settings that pay, in tuned.toml"),
    ("jaxgpu-tune tune --kind loops --kind small-kernels -- python ppo.py", "what helps such programs is tried first"),
    ("jaxgpu-tune tune --metric 'tokens/s: ([0-9.]+)' --higher-is-better -- ./job.sh", "by a number that it prints"),
    ("jaxgpu-tune tune --budget 1h -- python train.py", "started again, it goes on where it was"),
)


def command(program: tuple[str, ...], **given: Any) -> int:
    """Search for the settings that make COMMAND faster, prove them by fresh runs, and write them as a preset file.

    COMMAND runs many times, unchanged. Each run is ended once enough steps were measured; {run} in COMMAND is an empty
    folder of its own. The search begins with no settings and with the presets that fit, tries one change at a time, and
    leaves out what does not pay. It claims a gain only if six fresh pairs of runs agree. What hangs, crashes or changes the
    numbers is never chosen. Ctrl-C loses no finished run, and the same command goes on.
    """
    from ..arms import environ_of
    from ..measure.tuning.tune import SearchWanted, files_of, space_here, tune_command, write_files

    request, how, files, candidates, kinds, budget, *_ = all_of(
        lambda: _request(given),
        lambda: _how(program, given),
        lambda: files_of(given["out"]),
        lambda: wanted_candidates(given),
        lambda: _kinds(given["kinds"]),
        lambda: duration(given["budget"], "--budget"),
        lambda: _check_only(given),
        lambda: check_output("--out", given["out"]),
    )
    wanted = SearchWanted(given["preset"], candidates, kinds, given["only"])
    space = space_here(request, wanted, os.environ, environ_of("clean", os.environ)[1])
    tell(space.mended)
    end_as_by_ctrl_c()
    try:
        found = tune_command(space, how, files, budget, _progress(space, how))
    except KeyboardInterrupt:
        return _interrupted(space, how, files, given["as_json"])
    write_files(found, files)
    _show(found, files, given["as_json"])
    return 0


def wanted_candidates(given: dict[str, Any]) -> tuple[Candidate, ...]:
    """What --try-flag, --try-env and --try-config name, checked as arguments are. Raises UnknownFlag, BadFlagValue, BadSetting."""
    from ..searching import candidates_of

    asked = {"flags": "try_flag", "env": "try_env", "jax_config": "try_config"}
    options = {name: mapping(given[option], option.replace("_", "-")) for name, option in asked.items()}
    return candidates_of(**options)


def _request(given: dict[str, Any]) -> Request:
    from ..planning.request import make_request

    return make_request("auto", {"layer_bytes": given["layer_bytes"]})


def _how(program: tuple[str, ...], given: dict[str, Any]) -> How:
    from ..measure.tuning.tune import files_of

    how: How
    how, tolerance = all_of(
        lambda: how_of(program, given, files_of(given["out"]).folder), lambda: _tolerance(given["tolerance"])
    )
    early = not (given["whole"] or given["alone"])
    return how._replace(tolerance=tolerance, early=early)


def _tolerance(text: str) -> float:
    value = share(text)
    if not 0 <= value < 1:
        raise bad_argument(f"--tolerance {text!r} is not valid; allowed: a share such as 0.01, or 1%.")
    return value


def _check_only(given: dict[str, Any]) -> None:
    if given["only"] and not (given["preset"] or any(given[option.name] for option in SEARCHED)):
        hint = "Say what to try: --preset, --try-flag, --try-env or --try-config."
        raise bad_argument("--only leaves nothing to try.", hint)


def _kinds(given: tuple[str, ...]) -> tuple[str, ...]:
    from ..knowledge.candidates import KINDS
    from ..wording import did_you_mean

    for kind in given:
        if kind not in KINDS:
            raise bad_argument(f"--kind {kind!r} is not known; allowed: {', '.join(KINDS)}.", did_you_mean(kind, KINDS))
    return given


def _progress(space: Space, how: How) -> Tell:
    from ..measure.tuning.tuned import how_it_goes
    from ..render.tuned import trial_heading

    lines = count()

    def tell(search: Search, left: float) -> None:
        if next(lines) == 0:
            say(trial_heading(how._asdict()), sys.stderr)
        say(how_it_goes(search, space, left, how._asdict()), sys.stderr)

    return tell


def _interrupted(space: Space, how: How, files: Files, as_json: bool) -> int:
    from ..measure.tuning.tune import how_it_stands, write_files

    if not files.journal.exists():
        return INTERRUPTED
    found = how_it_stands(space, how, files)
    write_files(found, files)
    say("Interrupted; every finished run is kept, and started again it goes on.", sys.stderr)
    _show(found, files, as_json)
    return INTERRUPTED


def _show(found: Tuned, files: Files, as_json: bool) -> None:
    if as_json:
        print_json(found.report)
    else:
        show(f"{found}\nEvery run: {files.report}, {files.page}")
