"""``tune`` for one function in this very process, as in a notebook: each candidate compiled with its own options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .api import plan
from .host.phase import joined_job
from .in_process import CallRuns
from .knowledge.candidates import Candidate
from .measure.checks import STEP, check_arguments, lasting
from .measure.search.search import Search
from .measure.tuning.drive import drive, resumed
from .measure.tuning.space import Space, candidate_of
from .measure.tuning.tune import Files, SearchWanted, files_of, gpu_missing, write_files
from .measure.tuning.tuned import Tuned, how_it_goes, tuned
from .model import Setting, SettingKind
from .values import EMPTY
from .wording import is_above_zero, setting_text

__all__ = ["candidates_of", "tune"]


def tune(
    step: Callable[..., Any],
    *args: Any,
    budget: float | str = "5m",
    out: str | os.PathLike[str] = "tuned.toml",
    presets: Sequence[str] = (),
    kinds: Sequence[str] = (),
    flags: Mapping[str, Any] = EMPTY,
    seconds: float = 0.5,
    tolerance: float = 0.01,
    risky: bool = False,
) -> Tuned:
    """Search for the settings that make a function faster, prove them, and write them as a preset file.

    Only what acts per compile is tried, since all of it happens in this process. What acts on the whole process (NCCL's variables, memory)
    needs ``jaxgpu-tune tune -- python train.py``. So does what may hang: nobody could end it here. In a job of several processes each calls
    it alike: all try the same, and the slowest counts.

    Args:
        step: Any function that JAX can compile, jitted or not; what it takes over (``donate_argnums``) it must give back.
        *args: What to call it with.
        budget: Seconds, or a text such as ``"90s"``, ``"20m"`` or ``"1.5h"``; earlier starts on the same function count.
        out: The preset file; the report (JSON), a page (HTML) and the journal go beside it.
        presets: Names or files to begin with, beside those that fit.
        kinds: What the program is like (``"loops"``, ``"collectives"``, …); by default as its compiled text tells.
        flags: XLA flags to try, too.
        seconds: Of each measurement.
        tolerance: By how much results may differ from those without settings, relative to the largest number of each array.
        risky: After all else, try what is known to hang or crash some programs, too. If it hangs, kill this process; called again, it goes on.

    Returns:
        ``.path`` of the preset file (None: nothing beats what you have), ``.gain``, ``.interval``, ``.trials``; in a notebook it shows itself.

    Raises:
        UnknownFlag, BadFlagValue, UnknownPreset, BadSetting: An argument is wrong, or the journal beside ``out`` is of another search.
        JaxGpuTuneError: The function fails as it is, or a process of the job does not come.

    Examples:
        >>> tuned = jaxgpu_tune.tune(train_step, state, batch, budget="3m")
        >>> tuned.gain, tuned.path
    """
    limit = _checked(step, budget, seconds, tolerance)
    calls = CallRuns(step, args, seconds, tolerance, joined_job())
    calls.ends = risky
    try:
        return _searched(
            calls, SearchWanted(tuple(presets), candidates_of(flags=flags), tuple(kinds)), files_of(out), limit
        )
    except BaseException as error:
        calls.leave(error)
        raise


def _searched(calls: CallRuns, wanted: SearchWanted, files: Files, limit: float) -> Tuned:
    """The answer, written beside the preset file by the first process of a job."""
    space = calls.prepared(wanted)
    about = calls.about(space)
    with calls.journal(files, about) as journal:
        interrupted = False
        try:
            search = drive(space, calls, journal, limit, partial(_tell, space))
        except KeyboardInterrupt as error:
            calls.leave(error)
            search, interrupted = resumed(space, calls, journal), True
    findings = [*gpu_missing(space), *journal.earlier]
    found = tuned(search, space, str(files.preset), about, findings, interrupted=interrupted)
    if calls.is_first:
        write_files(found, files)
    return found


def candidates_of(**asked: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Candidates of the user's, each by itself: ``flags``, ``env`` and ``jax_config`` as ``configure()`` takes them, checked as there.

    Raises UnknownFlag, BadFlagValue, BadSetting.
    """
    wanted: Any = {name: given for name, given in asked.items() if given}
    plan("auto", environ={}, **wanted)
    kinds: dict[str, SettingKind] = {"flags": "xla_flag", "env": "env", "jax_config": "jax_config"}
    settings = [
        Setting(kinds[name], one, value if name == "jax_config" else setting_text(value), "asked for", "asked for")
        for name, given in wanted.items()
        for one, value in given.items()
    ]
    return tuple(candidate_of(f"{one.name.removeprefix('--')}={one.value}", [one]) for one in settings)


def _tell(space: Space, search: Search, left: float) -> None:
    """A line on a terminal; elsewhere nothing is printed, since the answer shows itself."""
    from .render.waiting import is_watched

    if is_watched():
        sys.stderr.write(how_it_goes(search, space, left) + "\n")
        sys.stderr.flush()


def _checked(step: Any, budget: Any, seconds: Any, tolerance: Any) -> float:
    """The budget in seconds. Raises BadSetting with all that is wrong."""
    limit = lasting(budget)
    allowed = 'seconds above 0, or a text such as "90s", "20m" or "1.5h"'
    is_share = isinstance(tolerance, (int, float)) and 0 <= tolerance < 1
    check_arguments(
        ("step", step, callable(step), STEP),
        ("budget", budget, is_above_zero(limit), allowed),
        ("seconds", seconds, is_above_zero(seconds), "numbers above 0"),
        ("tolerance", tolerance, is_share, "a share such as 0.01"),
    )
    return limit
