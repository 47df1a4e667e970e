"""``late="reexec"``: from where a program was started, and where starting it again would do harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

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
SHORT = JOB.replace(
    "jax, jaxgpu_tune\njax.devices()\n",
    "jaxgpu_tune\nif 'XLA_FLAGS' not in os.environ:\n    import jax\n    jax.devices()\n",
)
"""The second start does without jax: from where it is, is what counts."""
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
CHILD = """
if sys.argv[1:]:
    jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 3}, late="reexec")
    print("configured", os.environ["XLA_FLAGS"], flush=True)
else:
    import subprocess
    job()
    subprocess.run([sys.executable, "job.py", "child"], cwd="..", check=True)
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
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "script", ["job.py", *(pytest.param(name, marks=pytest.mark.slow) for name in ("./job.py", "results/../job.py"))]
)
def test_a_program_that_has_left_its_folder_starts_again_where_it_began(folder: Path, script: str) -> None:
    (folder / "job.py").write_text(f"{JOB if script == 'job.py' else SHORT}told()")
    begun = f"start ['a b'] {folder}"
    assert lines(folder, script, "a b") == [begun, begun, "configured --xla_gpu_autotune_level=2"]


def packed(folder: Path) -> Path:
    """A zip file that Python runs."""
    with ZipFile(folder / "job.zip", "w") as file:
        file.writestr("__main__.py", f"{SHORT}told()")
    return folder / "job.zip"


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "pack.job", "job.py"),
        pytest.param(("pack", "x"), marks=pytest.mark.slow),
        pytest.param(("./pack", "x"), marks=pytest.mark.slow),
        pytest.param(("job.zip", "x"), marks=pytest.mark.slow),
        ("-c", f"{SHORT}told()", "x"),
        pytest.param(("{folder}/pack/job.py", "job.py"), marks=pytest.mark.slow),
        pytest.param(("-Wignore", "pack/job.py", "x"), marks=pytest.mark.slow),
    ],
)
def test_every_form_of_a_program_starts_again_where_the_library_was_imported(
    folder: Path, words: tuple[str, ...]
) -> None:
    (folder / "pack").mkdir()
    for name in ("job.py", "__main__.py"):
        (folder / "pack" / name).write_text(f"{SHORT}told()")
    packed(folder)
    command = [word.replace("{folder}", str(folder)) for word in words]
    begun = f"start {command[-1:]} {folder}"
    assert lines(folder, *command) == [begun, begun, "configured --xla_gpu_autotune_level=2"]


def test_a_script_that_left_its_folder_before_it_imported_the_library(folder: Path) -> None:
    left = "import os\nbegan = os.getcwd()\nos.chdir('results')\n"
    (folder / "job.py").write_text(left + SHORT.replace("os.getcwd()", "began").replace('"results"', "'..'") + "told()")
    begun = f"start [] {folder}"
    assert lines(folder, "job.py") == [begun, begun, "configured --xla_gpu_autotune_level=2"]


def test_a_folder_that_is_gone_is_said(folder: Path) -> None:
    (folder / "start").mkdir()
    code = f"{JOB}".replace('"results"', '".."') + "os.rmdir('start')\ntold()"
    assert lines(folder / "start", "-c", code)[-1].startswith("refused: the folder in which it began is gone.")


@pytest.mark.slow
def test_children_of_a_program_that_started_again_may_do_so_too(folder: Path) -> None:
    """They inherit its environment, in which it is noted that it did."""
    (folder / "job.py").write_text(JOB + CHILD)
    parent, child = f"start [] {folder}", f"start ['child'] {folder}"
    said = [f"configured --xla_gpu_autotune_level={level}" for level in (2, 3)]
    assert lines(folder, "job.py") == [parent, parent, said[0], child, child, said[1]]


@pytest.mark.parametrize(
    "words", [(), *(pytest.param(words, marks=pytest.mark.slow) for words in (("-",), ("/dev/fd/0",)))]
)
def test_a_program_that_can_be_read_only_once_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    """Started again it would find an empty stdin, and end as if all were well."""
    started, said = lines(folder, *words, stdin=f"{JOB}told()")
    assert started.startswith("start")
    assert said.startswith("refused: its text came through a pipe")


@pytest.mark.parametrize(("rest", "starts"), [(FORKED, 1), pytest.param(SPAWNED, 2, marks=pytest.mark.slow)])
def test_a_worker_does_not_start_the_program_beside_itself(folder: Path, rest: str, starts: int) -> None:
    """A spawned worker imports the program, which is the second start."""
    (folder / "job.py").write_text(JOB + rest)
    printed = lines(folder, "job.py")
    assert len([line for line in printed if line.startswith("start")]) == starts
    assert printed[-1].startswith("refused: this is a worker of the program")
