"""Start a program with the observer inside, wait for what is asked, end it with all its processes, say what came of it.

    outcome = run_watched(["python", "train.py", "--out", "{run}"], environ=arm, folder="runs/001")
    outcome.status, outcome.seconds_a_step, outcome.cause

``profile``, ``compare``, ``tune``, ``bisect`` and ``pgle`` are built on this.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..values import Value
from ..wording import counted
from .endings import Status, ending, losses, numbers_in, once_each, silence, without_input
from .host_clock import with_host_clock
from .starting import OBSERVED, OUTPUT, StartedRun, end, filled, leave, start
from .stopping import AT_ONCE, living
from .watched import DONE, Process, leading, measured, read_processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Seen = Callable[[tuple[Process, ...]], None]


__all__ = ["INTERRUPTED", "Asked", "Limits", "RunOutcome", "left_behind", "request", "run_watched", "watch"]

INTERRUPTED = 130
"""As a shell has it after Ctrl-C."""

LOOK = 0.1
LEFT_ALONE = 10.0
"""Seconds that the others get to end by themselves once a rank has died of an exception."""
OTHERS = 3.0
"""Seconds that the other ranks get to be done once rank 0 is."""
MOST_OUTPUT, TAIL = 20_000_000, 20_000
"""Bytes of the output in which numbers are looked for, from its beginning; and of its end, in which the cause of an ending is."""
ENOUGH_NUMBERS = 5
LINES = 20
LEFT = (
    "The command itself ended after {:.1f} s, and what it had left running was ended: let it wait for that "
    "(`wait` in a shell; no `&`, no `docker run -d`)."
)


class Asked(Value):
    """What is to be seen of a program.

    ``seconds`` of steady state to measure; ``whole``: let the program run to its end instead of ending it once all is measured;
    ``function``: go by the calls of this jitted function; ``trace``: record a device trace after the measurement, as
    {"steps": 5, "options": {name: value of jax's ProfileOptions}} (None: no trace); ``metric``: a regular expression for a number
    in the output (its first group), of which five must have come before the run is complete; ``program``: tell what was compiled.
    """

    seconds: float = 3.0
    whole: bool = False
    function: str | None = None
    trace: Mapping[str, Any] | None = None
    metric: str | None = None
    program: bool = False


class Limits(Value):
    """When a run is given up, in seconds. ``timeout``: for all of it; ``stall``: without a step, a compilation or output, once steps were seen.

    ``grace``: between SIGTERM and SIGKILL.
    """

    timeout: float | None = None
    stall: float | None = None
    grace: float = 10.0


class RunOutcome(Value):
    """What came of a run.

    ``status``: "ok" (ended well, or measured and ended by us), "not-started", "refused" (XLA or JAX accept a setting or a value not),
    "compile-error", "out-of-memory", "nan", "hang" (a limit was reached), "died". ``cause``: a sentence, empty if ok.
    ``exit_code``: the command's own, negative for a signal; ``seconds``: from start to end; ``complete``: all that was asked was seen;
    ``processes``: one for each Python that reported; ``silent``: why no step was seen, or empty; ``metric`` and ``losses``: numbers found in the
    captured output, in order; ``output``: its file (None: not captured); ``folder``: all that the run left.
    """

    status: Status
    cause: str
    command: tuple[str, ...]
    folder: str
    exit_code: int | None = None
    seconds: float = 0.0
    complete: bool = False
    processes: tuple[Process, ...] = ()
    silent: str = ""
    metric: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    output: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.status == "ok"

    @property
    def last_words(self) -> str:
        """The last twenty lines of the captured output."""
        return "\n".join(_words(Path(self.folder), last=True).splitlines()[-LINES:])

    @property
    def leader(self) -> Process | None:
        """The process whose clock counts: rank 0, or of several without ranks the slowest that has a period."""
        timed = [one for one in leading(self.processes) if one.period is not None]
        return max(timed, key=lambda one: one.period.seconds if one.period else 0.0, default=None)

    @property
    def seconds_a_step(self) -> float | None:
        """The leader's period."""
        leader = self.leader
        return leader.period.seconds if leader is not None and leader.period is not None else None

    @property
    def peak_bytes(self) -> int | None:
        """The largest peak memory of a device in any process."""
        return max((one.peak_bytes for one in self.processes if one.peak_bytes), default=None)

    @property
    def compile_seconds(self) -> float:
        """Real compilations of the leader, or of whoever compiled longest."""
        leader = self.leader
        return leader.compile_seconds if leader else max((one.compile_seconds for one in self.processes), default=0.0)


def run_watched(
    command: Sequence[str],
    *,
    folder: str | os.PathLike[str],
    environ: Mapping[str, str] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - a frozen value
    limits: Limits = Limits(),  # noqa: B008
    capture: bool = True,
    seen: Seen | None = None,
) -> RunOutcome:
    """Run ``command`` (any: a Python, a shell script, srun) and watch each Python in it. Its failure is an outcome, never an exception.

    ``folder``: made if need be; empty, so that no earlier run is read. ``environ``: by default this process's own. ``capture``: output goes to a file and
    the command gets a process group of its own; else output, input and terminal are this process's own. ``seen``: called
    about ten times a second with what the processes reported so far; what it raises ends the run and comes through, as Ctrl-C does.
    "{run}" in the command and JAXGPU_TUNE_RUN_DIR stand for an empty folder of the run's own.
    """
    place = Path(folder).absolute()
    given, begun = os.environ if environ is None else environ, time.monotonic()
    try:
        started = start(command, place, given, request(asked), capture=capture)
    except OSError as error:
        words = filled(command, place)
        cause = f"{words[0]}: {error.strerror}"
        return RunOutcome("not-started", cause, words, str(place))
    return watch(started, asked, limits, seen, begun)


def watch(
    started: StartedRun, asked: Asked, limits: Limits, seen: Seen | None = None, begun: float | None = None
) -> RunOutcome:
    """Wait for what is asked of a command that was started, and end it. Its seconds count from ``begun`` (time.monotonic), by default from now."""
    begin = time.monotonic() if begun is None else begun
    why, behind = "interrupted", False
    try:
        why = _wait(started, asked, limits, seen)
        behind = why == "exit" and started.output is not None and bool(living(started.child, started.mark))
    finally:
        if why != "exit" or started.output is not None:
            known = measured(started.observed) if why == "complete" else ()
            end(started, limits.grace if why != "interrupted" else AT_ONCE, known)
        else:
            leave(started)
    found = _outcome(started, asked, why, time.monotonic() - begin)
    return found._replace(silent=LEFT.format(found.seconds)) if behind and found.ok and found.silent else found


def left_behind(command: Sequence[str], folder: str | os.PathLike[str]) -> RunOutcome:
    """What a run left that Ctrl-C ended, its traces included."""
    place = Path(folder).absolute()
    return RunOutcome(
        *("died", "it was interrupted", tuple(command), str(place)),
        exit_code=INTERRUPTED,
        processes=read_processes(place / OBSERVED),
    )


def request(asked: Asked) -> dict[str, Any]:
    """What the observer is told."""
    trace = dict(asked.trace) if asked.trace else None
    return {"seconds": asked.seconds, "function": asked.function, "trace": trace, "program": asked.program}


def _wait(started: StartedRun, asked: Asked, limits: Limits, seen: Seen | None) -> str:
    """Why the waiting is over: "exit", "complete", "lost" (a rank died, for which the others would wait for ever), "timeout" or "stall"."""
    begin = moved = time.monotonic()
    last: Any = None
    complete = lost = 0.0
    while started.child.poll() is None:
        processes, now = read_processes(started.observed), time.monotonic()
        if seen is not None:
            seen(processes)
        progress = _progress(processes, started.place)
        moved, last = (now, progress) if progress != last else (moved, last)
        if limits.timeout is not None and now - begin > limits.timeout:
            return "timeout"
        if limits.stall is not None and leading(processes) and now - moved > limits.stall:
            return "stall"
        lost = (lost or now) if _lost(processes) else 0.0
        if lost and now - lost > LEFT_ALONE:
            return "lost"
        if not asked.whole and _is_complete(processes, started.place, asked):
            complete = complete or now
            if now - complete > OTHERS or all(one.state == DONE for one in processes if one.steps):
                return "complete"
        with suppress(subprocess.TimeoutExpired):
            started.child.wait(LOOK)
    return "exit"


def _progress(processes: tuple[Process, ...], place: Path) -> Any:
    output = place / OUTPUT
    written = output.stat().st_size if output.exists() else 0
    return written, tuple((one.steps, len(one.compilations), one.state) for one in processes)


def _lost(processes: tuple[Process, ...]) -> bool:
    return any(one.rank is not None and one.ended and one.error for one in processes)


def _is_complete(processes: tuple[Process, ...], place: Path, asked: Asked) -> bool:
    deciding = leading(processes)
    if not deciding or any(one.state != DONE for one in deciding):
        return False
    return asked.metric is None or len(numbers_in(asked.metric, _words(place))) >= ENOUGH_NUMBERS


def _words(place: Path, *, last: bool = False) -> str:
    """The captured output from its beginning, or the ``last`` of it."""
    path = place / OUTPUT
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL) if last else 0)
        return file.read(MOST_OUTPUT).decode(errors="replace")


def _outcome(started: StartedRun, asked: Asked, why: str, seconds: float) -> RunOutcome:
    processes = tuple(with_host_clock(one, asked.function) for one in read_processes(started.observed))
    place, text, code = started.place, _words(started.place), started.child.returncode
    error = next((one.error for one in processes if one.error), None)
    status, cause = _status(why, code, _words(place, last=True), error, seconds)
    found, metric = losses(text), numbers_in(asked.metric, text) if asked.metric else ()
    if status == "ok" and _ends_in_nan(metric or found):
        status, cause = "nan", "the last number that it printed is not finite"
    if status == "hang" and asked.metric and len(metric) < ENOUGH_NUMBERS:
        cause += f"; the pattern of the metric was found {counted(len(metric), 'time')} in its output, and {ENOUGH_NUMBERS} are needed"
    done = [one for one in leading(processes) if one.period is not None]
    output = str(place / OUTPUT) if (place / OUTPUT).exists() else None
    return RunOutcome(
        *(status, without_input(cause) if output else cause, started.command, str(place), code, seconds),
        complete=bool(done) and all(one.state == DONE for one in done),
        processes=processes,
        silent=silence(started.command, processes, failed=status in ("refused", "died")),
        metric=metric,
        losses=once_each(found, processes),
        output=output,
    )


def _status(why: str, code: int | None, text: str, error: str | None, seconds: float) -> tuple[Status, str]:
    if why == "complete":
        return "ok", ""
    if why in ("timeout", "stall"):
        what = "it was not done" if why == "timeout" else "nothing moved any more"
        return "hang", f"{what} after {seconds:.0f} s, so it was ended"
    return ending(1 if why == "lost" else code, text, error)


def _ends_in_nan(found: Sequence[float]) -> bool:
    return bool(found) and not abs(found[-1]) < float("inf")
