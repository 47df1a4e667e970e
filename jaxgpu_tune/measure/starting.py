"""Start a command with the observer inside: at once, or held before its first device until it is told to go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..values import Value
from .guard import dismiss, guard
from .observer.gate import CUDA, GO, HELD
from .stopping import end_all, kill_carriers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "OBSERVED",
    "OUTPUT",
    "StartedRun",
    "discard",
    "end",
    "is_held",
    "leave",
    "pause",
    "release",
    "start",
    "used_cuda",
]

OBSERVE, RUN_DIR = "JAXGPU_TUNE_OBSERVE", "JAXGPU_TUNE_RUN_DIR"
OBSERVED, OUTPUT = "observed", "output.txt"
"""What is in the folder of a run: a folder of reports, and what was printed, where that is captured."""
TO_END = 5.0
"""Seconds that one has which is not needed any more."""
PATH = Path(__file__).resolve().parent / "observer" / "path"
"""What goes first on PYTHONPATH."""


class StartedRun(Value):
    """A command that runs. ``place``: its folder; ``command``: with {run} filled in.

    ``output``: the file of what it prints, None where it is not captured; ``guard``: what ends it if this process is killed.
    """

    child: subprocess.Popen[bytes]
    place: Path
    command: tuple[str, ...]
    output: Path | None
    guard: subprocess.Popen[bytes] | None = None

    @property
    def observed(self) -> Path:
        """The folder in which its processes report."""
        return self.place / OBSERVED

    @property
    def mark(self) -> dict[str, str]:
        """What each of its processes carries in its environment."""
        return {OBSERVE: str(self.observed)}


def start(
    command: Sequence[str],
    folder: str | os.PathLike[str],
    environ: Mapping[str, str],
    request: Mapping[str, Any],
    *,
    capture: bool = True,
    hold: bool = False,
) -> StartedRun:
    """Start it. ``request``: what is asked of the observer; ``hold``: go no further than to the first device. Raises OSError."""
    place = Path(folder).absolute()
    words = filled(command, place)
    for name in (OBSERVED, "files"):
        (place / name).mkdir(parents=True, exist_ok=True)
    asked = {**request, "hold": os.getpid()} if hold else request
    (place / OBSERVED / "request.json").write_text(json.dumps(asked), encoding="utf-8")
    output = place / OUTPUT if capture else None
    environ = _environ(environ, place, capture)
    try:
        started = StartedRun(_begun(words, environ, output), place, words, output)
        target = -started.child.pid if capture else started.child.pid  # what is captured has a group of its own
        return started._replace(guard=guard(target, f"{OBSERVE}={environ[OBSERVE]}"))
    except BaseException:  # Ctrl-C, say: the command may have begun, and nobody else knows of it
        kill_carriers({OBSERVE: environ[OBSERVE]})
        raise


def filled(command: Sequence[str], place: Path) -> tuple[str, ...]:
    """The command with the run's own folder for {run}."""
    return tuple(word.replace("{run}", str(place / "files")) for word in command)


def release(started: StartedRun) -> None:
    """Let it go on."""
    pause(started, False)
    (started.observed / GO).touch()


def pause(started: StartedRun, stop: bool) -> None:
    """Stop a captured command with all its processes, or let them run."""
    with suppress(ProcessLookupError):
        os.killpg(started.child.pid, signal.SIGSTOP if stop else signal.SIGCONT)


def is_held(started: StartedRun) -> bool:
    """Whether it has come to its first device and waits."""
    return any(started.observed.glob(f"{HELD}*"))


def used_cuda(started: StartedRun) -> bool:
    """Whether it had a GPU in use before JAX had, so that holding it is no use."""
    return any(path.read_text() == CUDA for path in started.observed.glob(f"{HELD}*"))


def discard(started: StartedRun) -> None:
    """End it; it may have a port or a lock file already, which it gives back when it is asked to end."""
    pause(started, False)
    end(started, TO_END)


def end(started: StartedRun, grace: float, known: Collection[int] = ()) -> None:
    """SIGTERM to all its processes, SIGKILL to those that are left after ``grace`` seconds; ``known`` and Ctrl-C as in ``end_all``."""
    try:
        end_all(started.child, started.mark, grace, known)
    finally:
        leave(started)


def leave(started: StartedRun) -> None:
    """Let go of it: what it has left running stays, also where this process is killed."""
    if started.guard is not None:
        dismiss(started.guard)


def _environ(given: Mapping[str, str], place: Path, capture: bool) -> dict[str, str]:
    rest = [part for part in given.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(PATH)]
    more = {"PYTHONUNBUFFERED": "1"} if capture else {}  # what was printed before the end is there to be read
    ours = {OBSERVE: str(place / OBSERVED), RUN_DIR: str(place / "files")}
    return {**more, **given, **ours, "PYTHONPATH": os.pathsep.join([str(PATH), *rest])}


def _begun(words: tuple[str, ...], environ: dict[str, str], output: Path | None) -> subprocess.Popen[bytes]:
    if output is None:
        return subprocess.Popen(words, env=environ)
    with output.open("wb") as file:
        return subprocess.Popen(
            words, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
