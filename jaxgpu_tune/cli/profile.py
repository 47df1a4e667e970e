"""``jaxgpu-tune profile -- COMMAND…``."""

from __future__ import annotations

import contextlib
import os
import sys

from ..wording import bad_argument
from .measuring import SECONDS, TIMEOUT, all_of, check_output, duration, end_as_by_ctrl_c, limit
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
FEWEST_STEPS = 3
PARAMETERS = (
    Option("names", "--names", "switch", "Run once more without CUDA graphs, and tell what they run."),
    Option("html", "--html", "text", "Write a page with a timeline.", "FILE"),
    Option(
        "keep", "--keep", "text", "Keep report, page and traces; on several hosts, a folder that all see.", "FOLDER"
    ),
    Option("stop", "--stop", "switch", "End the command once its steps are traced, instead of letting it finish."),
    Option("function", "--function", "text", "The jitted function that is the step.", "NAME"),
    Option("steps", "--steps", "number", "Steps to trace.", "N", default=6),
    SECONDS,
    TIMEOUT,
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

    wanted, _ = all_of(lambda: _asked(asked), lambda: check_output("--html", html))
    end_as_by_ctrl_c()
    with tempfile.TemporaryDirectory(prefix="jaxgpu_tune-") as scratch, _apart(as_json):
        folder = keep or scratch
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


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """Raises BadSetting for what cannot be meant."""
    from ..measure.runs import Asked, Limits

    seconds, timeout, steps = all_of(
        lambda: duration(given["seconds"], "--seconds"),
        lambda: limit(given["timeout"], "--timeout"),
        lambda: _steps(given["steps"]),
    )
    asked = Asked(seconds=seconds, whole=not given["stop"], function=given["function"], trace={"steps": steps})
    told = {} if given["stop"] else {"traced": _tell_traced}
    return {"asked": asked, "limits": Limits(timeout=timeout), **told}


def _steps(number: int) -> int:
    if number < FEWEST_STEPS:
        raise bad_argument(f"--steps {number} is not valid; allowed: whole numbers of at least {FEWEST_STEPS}.")
    return number


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
