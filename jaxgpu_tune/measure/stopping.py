"""End a command with all that it started: its process group, and whoever left the group but carries its mark."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["AT_ONCE", "PATIENCE", "carriers", "end_all", "ended_by_ctrl_c", "kill_carriers", "living", "members"]

LOOK = 0.05
PATIENCE = 10.0
"""Seconds after Ctrl-C in which a command may end by itself."""
AT_ONCE = 1.0
"""Seconds from SIGTERM to SIGKILL where somebody waits for the end."""
SOON = 2.0
"""Seconds from SIGTERM to SIGKILL of a process of which all is known: jax.distributed catches SIGTERM, and the steps go on."""
STARTING = 1.0
"""Seconds for one execve at most; it takes microseconds."""
MEMORY, ENVIRON = 20, 47
"""Where ``_stat`` has the size of the memory, and the start of the environment before its end (man 5 proc: 23, 50, 51)."""


def end_all(child: subprocess.Popen[bytes], mark: Mapping[str, str], grace: float, known: Collection[int] = ()) -> None:
    """SIGTERM to all, SIGKILL to those that are left after ``grace`` seconds. ``mark``: variables that its processes carry.

    ``known``: process ids of which all is known; of these, after SOON. A launcher needs the grace, to end its processes on other hosts.

    Ctrl-C meanwhile cuts the grace short; KeyboardInterrupt is raised once all are ended.
    """
    impatient: KeyboardInterrupt | None = None
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            left = _ended_by(number, child, mark, grace, known)
        except KeyboardInterrupt as pressed:
            left, impatient = living(child, mark), pressed
        if not left:
            break
    child.poll()
    if impatient is not None:
        raise impatient


def _ended_by(
    number: int, child: subprocess.Popen[bytes], mark: Mapping[str, str], grace: float, known: Collection[int]
) -> set[int]:
    """Who is left of those that got the signal."""
    left = living(child, mark)
    for pid in left:
        _send(pid, number)
    begun = time.monotonic()
    while left and time.monotonic() < begun + grace:
        time.sleep(LOOK)
        left = living(child, mark)
        for pid in left & {*known} if time.monotonic() > begun + SOON else ():
            _send(pid, signal.SIGKILL)
    return left


@contextmanager
def ended_by_ctrl_c(
    child: subprocess.Popen[bytes], mark: Mapping[str, str], told: Callable[[], None]
) -> Iterator[list[int]]:
    """For a command at the terminal, which gets Ctrl-C as well: it has PATIENCE seconds to end by itself, or until the next Ctrl-C.

    Then it is ended with all that it started. ``told`` is called at the first one. Gives the signals that came, in order.
    """
    came: list[int] = []

    def heard(number: int, _frame: object) -> None:
        came.append(number)
        if len(came) == 1:
            told()
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            end_all(child, mark, AT_ONCE)

    before = {one: signal.signal(one, heard) for one in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in before.items():
            signal.signal(one, handler)


def carriers(mark: Mapping[str, str]) -> set[int]:
    """The processes of this host, but this one, whose environment at their start held these variables (Linux)."""
    wanted = [f"{name}={value}".encode() for name, value in mark.items()]
    return {
        int(place.name)
        for place in _processes()
        if int(place.name) != os.getpid() and _holds(place / "environ", wanted) and not _is_dead(place)
    }


def kill_carriers(mark: Mapping[str, str]) -> None:
    """SIGKILL to whoever carries the mark."""
    for pid in carriers(mark):
        _send(pid, signal.SIGKILL)


def members(group: int) -> set[int]:
    """The living processes of that process group; none where the group is this process's own."""
    if group == os.getpgrp():
        return set()
    return {int(place.name) for place in _processes() if _stat(place)[2:3] == [str(group)] and not _is_dead(place)}


def _processes() -> list[Path]:
    """The folders of this host's processes, listed at once: Ctrl-C would leave an iterator open."""
    proc = Path("/proc")
    return [proc / name for name in os.listdir(proc) if name.isdigit()] if proc.is_dir() else []


def living(child: subprocess.Popen[bytes], mark: Mapping[str, str]) -> set[int]:
    """Who lives of a command: itself, its process group, and whoever carries its mark."""
    own = {child.pid} if child.poll() is None else set()
    return own | members(child.pid) | carriers(mark)


def _holds(path: Path, wanted: list[bytes]) -> bool:
    end = time.monotonic() + STARTING
    try:
        while not (text := path.read_bytes()) and _has_environ(path.parent) and time.monotonic() < end:
            time.sleep(0)
    except OSError:
        return False
    found = text.split(b"\0")
    return all(one in found for one in wanted)


def _has_environ(process: Path) -> bool:
    """In the middle of execve it reads as empty all the same: the old one is gone, or the new one is not all there."""
    memory, start, end = (_stat(process)[at : at + 1] for at in (MEMORY, ENVIRON, ENVIRON + 1))
    return memory not in ([], ["0"]) and (end == ["0"] or start != end)


def _is_dead(process: Path) -> bool:
    """A zombie waits for its parent only."""
    return _stat(process)[:1] in ([], ["Z"], ["X"])


def _stat(process: Path) -> list[str]:
    """State, parent, process group and so on; empty where the process is gone (man 5 proc)."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
