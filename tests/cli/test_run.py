"""``run``: the command in place of this one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.cli.run import _overwritten, _script
from tests.child import ROOT
from tests.cli.typed import program

pytestmark = pytest.mark.usefixtures("machine")


@pytest.mark.usefixtures("this_jaxlib")
def test_run_is_the_program_itself() -> None:
    """Its arguments, output and exit code; its environment holds the flags."""
    code = "import os, sys; print(sys.argv[1:], os.environ['XLA_FLAGS'], os.getpid()); sys.exit(7)"
    command = [sys.executable, "-m", "jaxgpu_tune", "run", "fsdp", "--", sys.executable, "-c", code, "a b", "--c"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        told = process.communicate(timeout=600)[0]
    assert process.returncode == 7
    assert told.startswith("['a b', '--c'] ") and "double_buffering=true" in told
    assert told.split()[-1] == str(process.pid)


def running(code: str, *options: str) -> tuple[str, ...]:
    """The command line that runs a Python program with fsdp."""
    return ("run", "fsdp", *options, "--", sys.executable, "-c", code, "a b", "--c")


def test_run_passes_signals_on() -> None:
    """The program dies of its own signal."""
    code = f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})"
    assert program(*running(code)).returncode == -signal.SIGTERM


def test_run_tells_the_plan_as_json_on_stderr() -> None:
    """So that stdout is the program's own."""
    done = program(*running("print('mine')", "--json"))
    assert done.stdout == "mine\n" and json.loads(done.stderr)["preset"] == "fsdp"


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/", 126)])
def test_run_ends_as_shells_do_where_nothing_can_be_run(command: str, code: int) -> None:
    """127: not found, 126: not executable."""
    done = program("run", "fsdp", "--", command)
    assert done.returncode == code and command in done.stderr


def test_run_without_a_preset_is_told_to_name_one_first() -> None:
    told = program("run", "--", "sh", "train script.sh")
    assert told.returncode == 2
    assert "Name a preset first: jaxgpu-tune run auto -- sh 'train script.sh'" in told.stderr
    assert "There is no preset" in program("run", "fsddp", "--", "true").stderr


@pytest.mark.usefixtures("this_jaxlib")
def test_what_it_takes_the_place_of_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again by the configure() of the program."""
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    code = "import jaxgpu_tune; print([one.code for one in jaxgpu_tune.configure('fsdp').findings])"
    done = program(*running(code, "--env", "NCCL_DEBUG=INFO"))
    assert " ".join(done.stderr.split()).count("NCCL_DEBUG=WARN was set already") == 1
    assert "request-holds" in done.stdout


@pytest.mark.usefixtures("this_jaxlib")
@pytest.mark.parametrize(
    ("there", "off", "lost"),
    [
        ("= '--xla_cpu_enable_fast_math=false'", "", True),
        ("= '--xla_cpu_enable_fast_math=false'", "off", False),
        ("= '--xla_cpu_enable_fast_math'", "", False),
        ("= os.environ.get('XLA_FLAGS', '') + ' --xla_a=1'", "", False),
    ],
)
def test_a_script_that_would_drop_the_flags_is_told_before_it_starts(
    there: str, off: str, lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sets to the same value is not lost, nor is what was not set. https://github.com/proteneer/timemachine/pull/770"""
    script, flag = tmp_path / "train.py", "xla_cpu_enable_fast_math=true"
    script.write_text(f"import os\nos.environ['XLA_FLAGS'] {there}\n")
    monkeypatch.setenv("JAXGPU_TUNE", off)
    run = ("run", "auto", "--flag", flag, "--json", "--", sys.executable, str(script))
    found = [one["message"] for one in json.loads(program(*run).stderr)["findings"]]
    told = f"auto: {script}, line 2, sets XLA_FLAGS itself, which drops --{flag}."
    assert [one for one in found if "itself" in one] == ([told] if lost else [])


@pytest.mark.usefixtures("this_jaxlib")
@pytest.mark.parametrize("there", ["", "--xla_gpu_autotune_level=2"])
def test_r19_a_script_that_would_no_longer_set_its_flags_is_told_before_it_starts(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where flags are set already, it passes its own over without us, too."""
    script = tmp_path / "train.py"
    if there:
        monkeypatch.setenv("XLA_FLAGS", there)
    script.write_text("import os\nos.environ.setdefault('XLA_FLAGS', '--xla_force_host_platform_device_count=4')\n")
    done = program("run", "fsdp", "--", sys.executable, str(script))
    told = f"{script}, line 2, sets XLA_FLAGS only where it is not set, and fsdp sets it"
    assert (told in " ".join(done.stderr.split())) is not there.startswith("--")


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_in_a_script_is_left_to_whoever_runs_it(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os\nx = '\\d'\nos.environ['XLA_FLAGS'] = '--xla_b=1'\n")
    assert [one.code for one in _overwritten("auto", "--xla_a=1", (str(script),))] == ["program-overwrites"]


def test_a_script_that_is_the_command_itself_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``./train.py``; what cannot be read is left to who runs it."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    script = tmp_path / "train.py"
    script.write_text(
        "\ufeffimport os\nos.environ['XLA_FLAGS'] = '--xla_b=1'\n", encoding="utf-8"
    )  # as Windows' editors do
    assert [one.code for one in _overwritten("auto", "--xla_a=1", (str(script),))] == ["program-overwrites"]
    assert not [*_overwritten("auto", "--xla_a=1", (str(tmp_path / "none.py"),))]


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("python train.py a.py", "train.py"),
        ("srun -n 2 .v/bin/python3.12 -u train.py", "train.py"),
        ("./train.py", "./train.py"),
        ("python -m tool a.py", None),
        ("cat a.py", None),
        ("python -c 1 a.py", None),
        ("python", None),
    ],
)
def test_which_script_a_command_starts(line: str, script: str | None) -> None:
    assert _script(tuple(line.split())) == script
