"""``jaxgpu-tune profile -- COMMAND…``."""

from __future__ import annotations

import contextlib
import os
import sys

from ..wording import bad_argument
from .measuring import check_output, end_as_by_ctrl_c
from .output import FOUND, print_json, say, show
from .parameters import COMMAND, JSON, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..measure.profile import Profile
    from ..measure.runs import RunOutcome


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

NOT_FOUND = 127
PARAMETERS = (
    Option("names", "--names", "switch", "Run once more without CUDA graphs, and tell what they run."),
    Option("html", "--html", "text", "Write a page with a timeline.", "FILE"),
    Option(
        "keep", "--keep", "text", "Keep report, page and traces; on several hosts, a folder that all see.", "FOLDER"
    ),
    Option("stop", "--stop", "switch", "End the command once its steps are traced, instead of letting it finish."),
    Option("function", "--function", "text", "The jitted function that is the step.", "NAME"),
    Option("steps", "--steps", "number", "Steps to trace.", "N", default=6),
    Option("seconds", "--seconds", "number", "Of steady state to measure before.", "N", default=3),
    Option("timeout", "--timeout", "number", "End the command after so long.", "SECONDS"),
    JSON,
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune profile -- python train.py --steps 200", "any program, unchanged"),
    ("jaxgpu-tune profile --html step.html -- python train.py", "with a timeline to zoom into"),
    ("jaxgpu-tune profile --names -- python train.py", "what runs inside CUDA graphs, too"),
    (
        "jaxgpu-tune profile --keep runs/1 -- srun python train.py",
        "several processes: rank 0's report, min and max over ranks",
    ),
)


def command(
    program: tuple[str, ...],
    names: bool,
    html: str | None,
    keep: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Tell where each millisecond of a step of COMMAND goes (computing, communication, copies, idle), and what to do.

    The program runs unchanged, to its end (or --stop). Its output (on stderr with --json), signals and exit code are its own.
    Once it runs steadily its step is measured; then a few steps are traced. Without a GPU only the time of a step is told.
    Exit code 1 also where no step was seen.
    """
    import tempfile

    from ..measure.profiling import keep as keep_all
    from ..measure.profiling import profile_command

    _check(html, asked)
    end_as_by_ctrl_c()
    with tempfile.TemporaryDirectory(prefix="jaxgpu_tune-") as scratch, _apart(as_json):
        folder = keep or scratch
        wanted = _asked(asked)
        profile, outcome = profile_command(program, folder, names=names, **wanted)
        if outcome.exit_code is None:
            say(f"jaxgpu-tune: {outcome.cause}", sys.stderr)
            return NOT_FOUND
        if keep:
            keep_all(profile, outcome, keep)
    _write(profile, html)
    if as_json:
        print_json(profile.to_dict())
    else:
        show(str(profile))
    return _status(profile, outcome)


def _tell_traced() -> None:
    say(
        "jaxgpu-tune: the step is measured and traced; the report comes when the program ends (Ctrl-C ends it).",
        sys.stderr,
    )


def _check(html: str | None, asked: dict[str, Any]) -> None:
    """Before the program runs: raises BadSetting for what cannot be meant."""
    for name, least in (("steps", 3), ("seconds", 1), ("timeout", 1)):
        value = asked[name]
        if isinstance(value, int) and value < least:
            raise bad_argument(f"--{name} {value} is not valid; allowed: whole numbers of at least {least}.")
    check_output("--html", html)


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    from ..measure.runs import Asked, Limits

    trace = {"steps": given["steps"]}
    asked = Asked(seconds=float(given["seconds"]), whole=not given["stop"], function=given["function"], trace=trace)
    told = {} if given["stop"] else {"traced": _tell_traced}
    return {"asked": asked, "limits": Limits(timeout=given["timeout"]), **told}


@contextlib.contextmanager
def _apart(wanted: bool) -> Iterator[None]:
    """With --json the program writes on stderr what it writes on stdout, which is for the JSON."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _write(profile: Profile, html: str | None) -> None:
    if html:
        from ..render.profile_html import profile_page

        with open(html, "w", encoding="utf-8") as file:
            file.write(profile_page(profile))
        say(f"written: {html}", sys.stderr)


def _tell_refused() -> None:
    """The likeliest cause of a program that dies at once; what it said itself went to the terminal."""
    from ..flag_texts import checked
    from ..measure.doubts import REFUSED

    _, read = checked()
    if read.ends:
        say(f"jaxgpu-tune: as it stands, XLA ends the process on XLA_FLAGS: {read.ends} {REFUSED}", sys.stderr)


def _status(profile: Profile, outcome: RunOutcome) -> int:
    """The program's own exit code, as a shell tells it; 1 where it is 0 but no step was seen."""
    code = 0 if outcome.ok else outcome.exit_code
    if code and profile.step_ms is None:
        _tell_refused()
    if code:
        return 128 - code if code < 0 else code
    return FOUND if profile.step_ms is None else 0
