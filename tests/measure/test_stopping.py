"""A command is ended with all that it started, gently first; nobody else is."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jaxgpu_tune.measure import stopping
from jaxgpu_tune.measure.stopping import STARTING, carriers, end_all, members

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


AGAIN = 'exec sh -c "$0" "$0"'
"""A shell's script that starts itself anew, in the same process, for ever."""

Starter = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def started() -> Iterator[Starter]:
    """Starts a shell whose script says "ready" once all that it starts is there; ends it after the test, which may fail."""
    children = []

    def start(script: str, mark: dict[str, str], group: bool = True) -> subprocess.Popen[bytes]:
        environ = {"PATH": os.environ["PATH"], **mark}
        child = subprocess.Popen(["sh", "-c", script], env=environ, stdout=subprocess.PIPE, start_new_session=group)
        children.append(child)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        child.stdout.close()
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()


def mark(folder: Path) -> dict[str, str]:
    """What nobody else carries."""
    return {"TESTS_MARK": str(folder)}


def test_all_that_it_started_goes_with_it_also_what_left_its_group(tmp_path: Path, started: Starter) -> None:
    mine = mark(tmp_path)
    child = started("sleep 600 & setsid sleep 600 & echo ready; sleep 600", mine)
    until = time.monotonic() + 300
    while (len(carriers(mine)), len(members(child.pid))) != (4, 3) and time.monotonic() < until:
        time.sleep(0.005)
    assert child.pid in members(child.pid) and members(child.pid) < carriers(mine)
    end_all(child, mine, 300)
    assert child.poll() in (-15, 143)  # a shell whose last command has ended by the signal says 143
    assert carriers(mine) == set() == members(child.pid)


def test_what_does_not_hear_is_killed(tmp_path: Path, started: Starter) -> None:
    """After the grace that it is given."""
    child = started("trap '' TERM; echo ready; while :; do sleep 0.01; done", mark(tmp_path))
    end_all(child, mark(tmp_path), 0.1)
    assert child.wait(300) == -9


def test_of_whom_all_is_known_is_killed_soon_and_the_others_have_their_grace(
    tmp_path: Path, started: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher waits for its processes, and ends by itself then."""
    monkeypatch.setattr(stopping, "SOON", 0.1)
    deaf = "trap '' TERM; echo $$ > pid; echo ready; while :; do sleep 0.01; done"
    child = started(f'cd {tmp_path}; trap : TERM; sh -c "{deaf.replace("$$", chr(92) + "$$")}"; exit 3', mark(tmp_path))
    end_all(child, mark(tmp_path), 300, {int((tmp_path / "pid").read_text())})
    assert child.wait(300) == 3


def test_ctrl_c_meanwhile_cuts_the_grace_short(tmp_path: Path, started: Starter) -> None:
    """All are ended before it comes through."""
    child = started("trap '' TERM; setsid sleep 600 & echo ready; while :; do sleep 0.01; done", mark(tmp_path))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(KeyboardInterrupt):
        end_all(child, mark(tmp_path), 300)
    signal.signal(signal.SIGALRM, before)
    assert child.wait(300) == -9 and carriers(mark(tmp_path)) == set()


def test_what_hears_may_put_its_things_in_order(tmp_path: Path, started: Starter) -> None:
    child = started(
        f"trap 'echo done > {tmp_path}/file; exit 3' TERM; echo ready; while :; do sleep 0.01; done", mark(tmp_path)
    )
    end_all(child, mark(tmp_path), 300)
    assert child.poll() == 3 and (tmp_path / "file").read_text() == "done\n"


def test_a_child_in_this_processs_own_group_does_not_take_the_group_with_it(tmp_path: Path, started: Starter) -> None:
    """As where the output is not captured: only what carries the mark is ended."""
    other = started("echo ready; exec sleep 600", {}, group=False)
    child = started("echo ready; exec sleep 600", mark(tmp_path), group=False)
    assert members(os.getpgrp()) == set()
    end_all(child, mark(tmp_path), 300)
    assert child.poll() == -15 and other.poll() is None


def test_marks_are_whole_values(tmp_path: Path, started: Starter) -> None:
    """A run whose folder begins alike is another one; one that has ended is nobody's."""
    child = started("echo ready; exec sleep 600", mark(tmp_path / "10"))
    assert carriers(mark(tmp_path / "1")) == set() and carriers(mark(tmp_path / "10")) == {child.pid}
    child.kill()
    until = time.monotonic() + 300
    while carriers(mark(tmp_path / "10")) and time.monotonic() < until:
        time.sleep(0.005)
    assert carriers(mark(tmp_path / "10")) == set(), "a zombie waits for its parent only"


def test_one_that_becomes_another_program_is_seen_throughout(tmp_path: Path, started: Starter) -> None:
    """While execve runs, its environment reads as empty: a program that does nothing but execve is seen at every look."""
    again = f"exec sh -c {shlex.quote(AGAIN)} {shlex.quote(AGAIN)}"
    child = started(f"echo ready; {again}", mark(tmp_path))
    assert all(carriers(mark(tmp_path)) == {child.pid} for _ in range(25))


def test_one_with_an_empty_environment_is_nobodys_and_costs_no_waiting(tmp_path: Path, started: Starter) -> None:
    started("echo ready; exec env -i sleep 600", mark(tmp_path))
    until = time.monotonic() + 300
    while carriers(mark(tmp_path)) and time.monotonic() < until:
        time.sleep(0.005)
    start = time.process_time()
    assert carriers(mark(tmp_path)) == set() and time.process_time() - start < STARTING / 2
