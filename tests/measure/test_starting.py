"""A command that is started and held before its first device, let go, or ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.measure import starting
from jaxgpu_tune.measure.runs import Asked, Limits, request, watch
from jaxgpu_tune.measure.starting import (
    PATH,
    StartedRun,
    discard,
    end,
    filled,
    is_held,
    pause,
    release,
    start,
    used_cuda,
)
from jaxgpu_tune.measure.stopping import carriers
from jaxgpu_tune.measure.watched import read_processes
from tests.child import ROOT, clean_environ

PROGRAM = (sys.executable, str(ROOT / "tests" / "measure" / "programs" / "tunable.py"), "100000")
ASKED = Asked(seconds=0.3)


def held(folder: Path, *command: str) -> StartedRun:
    """A command that has come to its first device."""
    started = start(command or PROGRAM, folder, clean_environ(JAX_PLATFORMS="cpu"), request(ASKED), hold=True)
    until = time.monotonic() + 3000
    while not is_held(started) and started.child.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    return started


def test_a_command_that_is_held_has_imported_and_nothing_else_and_then_runs_as_any_other(tmp_path: Path) -> None:
    started = held(tmp_path / "1")
    assert is_held(started)
    (seen,) = read_processes(started.place / "observed")
    assert (seen.steps, seen.compilations) == (0, ())
    pause(started, True)
    release(started)
    outcome = watch(started, ASKED, Limits(60.0))
    assert outcome.ok and outcome.complete
    assert outcome.seconds_a_step == pytest.approx(8e-3, rel=0.5)


@pytest.mark.slow
def test_what_waits_ends_with_who_is_to_let_it_go_or_when_it_is_not_wanted(tmp_path: Path) -> None:
    started = held(tmp_path / "1")
    pause(started, True)
    discard(started)
    assert carriers(started.mark) == set()
    code = "import jax; jax.devices(); print('went')"
    parent = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from itertools import pairwise
from pathlib import Path
from typing import Any
from tests.measure.test_starting import held
print(held(Path(sys.argv[1]), {sys.executable!r}, "-c", {code!r}).child.pid, flush=True)
os._exit(1)
"""
    told = subprocess.run(
        [sys.executable, "-c", parent, str(tmp_path / "2")], capture_output=True, text=True, check=False
    )
    until = time.monotonic() + 300
    while Path(f"/proc/{int(told.stdout)}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{int(told.stdout)}").exists()
    assert "went" not in (tmp_path / "2" / "output.txt").read_text()


def test_every_run_names_its_own_folder_and_is_watched_before_all_else_on_the_path(tmp_path: Path) -> None:
    """{run}, the two variables, and PYTHONPATH with what the user had behind; all that is printed is kept."""
    names = "$JAXGPU_TUNE_OBSERVE $JAXGPU_TUNE_RUN_DIR $PYTHONPATH $PYTHONUNBUFFERED"
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": f"/mine{os.pathsep}{PATH}{os.pathsep}/other"}
    started = start(
        ("sh", "-c", f"echo $0 {names}; echo said >&2", "{run}/out"), tmp_path / "run", given, {"seconds": 2}
    )
    assert started.child.wait() == 0 and started.output is not None
    end(started, 0.0)
    place, path = tmp_path / "run", os.pathsep.join([str(PATH), "/mine", "/other"])
    line = f"{place / 'files' / 'out'} {place / 'observed'} {place / 'files'} {path} 1"
    assert started.output.read_text() == f"{line}\nsaid\n"
    assert (started.command[-1], started.mark) == (
        str(place / "files" / "out"),
        {"JAXGPU_TUNE_OBSERVE": str(place / "observed")},
    )
    assert json.loads((place / "observed" / "request.json").read_text()) == {"seconds": 2}
    assert list((place / "files").iterdir()) == []


def test_what_holds_it_is_this_process_and_what_it_had_in_use_is_told(tmp_path: Path) -> None:
    """A GPU that another library of the program had opened makes holding useless."""
    started = start(("sleep", "60"), tmp_path, os.environ, {"a": 1}, hold=True)
    assert json.loads((tmp_path / "observed" / "request.json").read_text()) == {"a": 1, "hold": os.getpid()}
    assert not is_held(started)
    (tmp_path / "observed" / "held-5").touch()
    assert is_held(started) and not used_cuda(started)
    (tmp_path / "observed" / "held-5").write_text("cuda")
    assert used_cuda(started)
    discard(started)
    assert started.child.poll() == -15
    release(started)
    assert (tmp_path / "observed" / "go").exists(), "nobody is left to be let go, which is no error"


def test_a_command_that_is_not_there_raises_as_it_would_without_us(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-command"):
        start(("no-such-command",), tmp_path, os.environ, {})
    assert filled(("a{run}b{run}", "{other}"), Path("/r")) == ("a/r/filesb/r/files", "{other}")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_what_had_begun_when_ctrl_c_came_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody holds it yet."""
    begun: list[subprocess.Popen[bytes]] = []

    def interrupted(*told: Any) -> subprocess.Popen[bytes]:
        begun.append(begin(*told))
        raise KeyboardInterrupt

    begin = starting._begun
    monkeypatch.setattr(starting, "_begun", interrupted)
    for capture in (True, False):
        with pytest.raises(KeyboardInterrupt):
            start(("sleep", "600"), tmp_path, os.environ, {}, capture=capture)
    assert [child.wait(60) for child in begun] == [-signal.SIGKILL] * 2
