"""Run a command as it is, and listen to what XLA and JAX say on its stderr while that is passed on.

JAX hides XLA's lines of level INFO unless TF_CPP_MIN_LOG_LEVEL is set, and its own unless JAX_LOGGING_LEVEL is; they
tell that a profile was used. So they are asked for, heard, and kept from the user, who may have asked for them too.
Stdin and stdout are the command's own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple

from ..measure.stopping import PATIENCE, ended_by_ctrl_c

__all__ = ["NOT_EXECUTABLE", "NOT_FOUND", "Heard", "run_heard"]

LEVEL, LOGGING = "TF_CPP_MIN_LOG_LEVEL", "JAX_LOGGING_LEVEL"
"""XLA's level and JAX's own: at INFO JAX tells of each program that an optimized executable was loaded for."""
OF_XLA = rb"I\d{4} \d\d:\d\d:\d\d\.\d"
OF_JAX = rb"(?:DEBUG|INFO):\d{4}-\d\d-\d\d [^ ]*:jax[\w.]*:"
MAYBE = re.compile(rb"^(?:I[\d :.]*|(?:D|DE|DEB|DEBU|DEBUG|I|IN|INF|INFO)(?::[^\n]*)?)$")
"""The beginning of a line that may be one of these, which is held back until the rest is there."""
OF_INTEREST = re.compile(
    rb"PGLE|fdo_profile|profile_guided_latency_estimator|profile guided|PERSISTENT CACHE|PGLE-optimized"
)
NOTHING = re.compile(rb"(?!)")
NOT_FOUND, NOT_EXECUTABLE, INTERRUPTED = 127, 126, 130
LOOK = 0.5
FORWARDED = (signal.SIGTERM, signal.SIGHUP)


MARK = "JAXGPU_TUNE_HEARD"
"""The variable by which the command's processes are known."""


class Heard(NamedTuple):
    """The command's exit code (a shell's convention for signals: 128 + number), and the lines about profiles.

    ``interrupted``: it ended after Ctrl-C; where that was by force, the code is 130 as well.
    """

    code: int
    lines: tuple[str, ...]
    interrupted: bool = False


def run_heard(command: Sequence[str], environ: Mapping[str, str]) -> Heard:
    """Run it to its end, or to that by Ctrl-C (``ended_by_ctrl_c``). Exit code 127 if there is no such command, 126 if it cannot be executed, as a shell has it."""
    ours = {LEVEL: "0"} if LEVEL not in environ else {}
    hidden = [OF_XLA] if ours else []
    if LOGGING not in environ and ours:  # it would change a level of XLA's that the user has set
        ours, hidden = {**ours, LOGGING: "INFO"}, [*hidden, OF_JAX]
    only_heard = re.compile(b"^(?:" + b"|".join(hidden) + b")") if hidden else NOTHING
    mark = {MARK: f"{os.getpid()}-{time.time_ns()}"}
    try:
        child = subprocess.Popen(command, env={**environ, **ours, **mark}, stderr=subprocess.PIPE)
    except OSError as error:
        print(f"jaxgpu-tune: {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - where its own words would be
        return Heard(NOT_FOUND if isinstance(error, (FileNotFoundError, NotADirectoryError)) else NOT_EXECUTABLE, ())
    assert child.stderr is not None
    with _signals_go_to(child), ended_by_ctrl_c(child, mark, _tell_how_long) as came:
        lines = tuple(_passed_on(child.stderr, only_heard))
        code = _ended(child)
    shown = INTERRUPTED if len(came) > 1 else 128 - code if code < 0 else code
    return Heard(shown, lines, bool(came))


def _ended(child: subprocess.Popen[bytes]) -> int:
    """Its code once it has one; between the looks signals are heard."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(LOOK)


def _tell_how_long() -> None:
    _show(f"jaxgpu-tune: the command has {PATIENCE:.0f} s to end; Ctrl-C again ends it now.\n".encode())


@contextmanager
def _signals_go_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """What is sent to this process alone is handed on; Ctrl-C reaches the command by the terminal."""
    before = {one: signal.getsignal(one) for one in FORWARDED}
    for one in FORWARDED:
        signal.signal(one, lambda number, _: child.send_signal(number))
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _passed_on(source: IO[bytes], hidden: re.Pattern[bytes]) -> Iterator[str]:
    """The lines of interest; all else goes to stderr as it comes, whole lines or not."""
    begun = held = b""  # of the last line: what was passed on already, and what was not
    while chunk := os.read(source.fileno(), 1 << 16):
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            yield from _heard(line, hidden, begun)
            begun = b""
        if held and (begun or not (MAYBE.match(held) or hidden.match(held))):
            _show(held)
            begun, held = begun + held, b""
    if begun or held:
        yield from _heard(held, hidden, begun, end=b"")


def _heard(line: bytes, hidden: re.Pattern[bytes], begun: bytes, end: bytes = b"\n") -> Iterator[str]:
    if begun or not hidden.match(line):
        _show(line + end)
    if OF_INTEREST.search(begun + line):
        yield (begun + line).decode(errors="replace")


def _show(data: bytes) -> None:
    sys.stderr.flush()
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()
