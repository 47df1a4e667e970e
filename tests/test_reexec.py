"""``late="reexec"``: from where a program was started, and where starting it again would do harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.child import clean_environ

JOB = """
import os, sys, jax, jaxgpu_tune
jax.devices()
print("start", sys.argv[1:], os.getcwd(), flush=True)
os.chdir("results")

@jaxgpu_tune.configured(flags={"xla_gpu_autotune_level": 2}, late="reexec")
def job():
    print("configured", os.environ["XLA_FLAGS"], flush=True)

def told():
    try:
        job()
    except jaxgpu_tune.TooLate as error:
        print("refused:", str(error).split("again is refused: ")[1], flush=True)

"""
FORKED = """
if os.fork():
    os.wait()
else:
    told()
    os._exit(0)
"""
SPAWNED = """
if __name__ == "__main__":
    from multiprocessing import get_context
    worker = get_context("spawn").Process(target=told)
    os.chdir("..")
    worker.start()
    worker.join()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a job begins; it changes into the folder ``results`` of it."""
    (tmp_path / "results").mkdir()
    return tmp_path


def lines(folder: Path, *command: str, stdin: str = "") -> list[str]:
    """What a program prints that Python starts in ``folder``."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=clean_environ(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("script", ["job.py", "./job.py", "results/../job.py"])
def test_a_program_that_has_left_its_folder_starts_again_where_it_began(folder: Path, script: str) -> None:
    (folder / "job.py").write_text(f"{JOB}told()")
    begun = f"start ['a b'] {folder}"
    assert lines(folder, script, "a b") == [begun, begun, "configured --xla_gpu_autotune_level=2"]


@pytest.mark.parametrize("words", [(), ("-",), ("/dev/fd/0",)])
def test_a_program_that_can_be_read_only_once_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    """Started again it would find an empty stdin, and end as if all were well."""
    started, said = lines(folder, *words, stdin=f"{JOB}told()")
    assert started.startswith("start")
    assert said.startswith("refused: its text came through a pipe")


@pytest.mark.parametrize(("rest", "starts"), [(FORKED, 1), (SPAWNED, 2)])
def test_a_worker_does_not_start_the_program_beside_itself(folder: Path, rest: str, starts: int) -> None:
    """A spawned worker imports the program, which is the second start."""
    (folder / "job.py").write_text(JOB + rest)
    printed = lines(folder, "job.py")
    assert len([line for line in printed if line.startswith("start")]) == starts
    assert printed[-1].startswith("refused: this is a worker of the program")
