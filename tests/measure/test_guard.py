"""Who kills this library's process leaves nothing of the user's program behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jaxgpu_tune.measure.guard import dismiss, guard
from jaxgpu_tune.measure.stopping import carriers
from tests.child import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_kill_9_leaves_nothing_behind_be_it_stopped_or_of_another_group(tmp_path: Path) -> None:
    parent = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from jaxgpu_tune.measure.starting import pause, start
for n in (1, 2):
    script = "trap '' TERM; setsid sleep 600 & while :; do sleep 0.01; done" if n == 1 else "sleep 600"
    started = start(("sh", "-c", script), sys.argv[n], os.environ, {{}})
pause(started, True)
print("started", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    folders = [tmp_path / name for name in "12"]
    command = [sys.executable, "-c", parent, *map(str, folders)]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert (told.stdout, told.returncode) == ("started\n", -9)
    until = time.monotonic() + 300
    while left := [pid for one in folders for pid in carriers({"JAXGPU_TUNE_OBSERVE": str(one / "observed")})]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_kill_9_ends_what_shares_the_terminal_too_but_not_who_runs_beside_it(tmp_path: Path) -> None:
    """It is in the group of who started it, as the next command of a pipeline is."""
    parent = f"""
import os, signal, subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from jaxgpu_tune.measure.starting import start
beside = subprocess.Popen(["sleep", "600"])
start(("sh", "-c", "sleep 600 & sleep 600"), sys.argv[1], os.environ, {{}}, capture=False)
print(beside.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    told = tmp_path / "told"
    with told.open("w") as file:
        subprocess.run([sys.executable, "-c", parent, str(tmp_path)], stdout=file, check=False, start_new_session=True)
    beside = int(told.read_text())
    try:
        until = time.monotonic() + 300
        while left := carriers({"JAXGPU_TUNE_OBSERVE": str(tmp_path / "observed")}):
            assert time.monotonic() < until, left
            time.sleep(0.05)
        os.kill(beside, 0)
    finally:
        os.kill(beside, signal.SIGKILL)


def test_what_is_dismissed_touches_nobody() -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        watching = guard(-child.pid, "NAME=nobody's")
        dismiss(watching)
        assert watching.returncode == 0 and child.poll() is None
        dismiss(watching)
    finally:
        child.kill()
        child.wait()
