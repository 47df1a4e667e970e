"""``jaxgpu-tune compare`` as it is typed: what it prints, writes and answers, and how it takes Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jaxgpu_tune.cli.compare import PARAMETERS, _protocol, _tell_empty
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.doubts import EMPTY_VARIANT
from jaxgpu_tune.measure.protocol import Arm, Protocol
from jaxgpu_tune.model import Finding
from tests.child import clean_environ
from tests.cli.typed import call

COMPARE = (sys.executable, "-m", "jaxgpu_tune", "compare")
BY_FLAGS = 'case "$XLA_FLAGS" in *level=0*) echo took 4;; *) echo took 8;; esac'


def compare(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command line, in an empty working directory and with pipes."""
    return subprocess.run(
        [*COMPARE, *words], cwd=cwd, env=clean_environ(), capture_output=True, text=True, timeout=120, check=False
    )


def test_a_preset_file_against_nothing(tmp_path: Path) -> None:
    """The table on stdout, silence of progress in a pipe, the JSON file, and the winner as a preset that can be used."""
    (tmp_path / "mine.toml").write_text('[[set]]\nflag = "xla_backend_optimization_level"\nvalue = 0\n')
    words = ("none", "mine.toml", "--metric", r"took (\d+)", "--save", "best.toml", "--result", "r.json")
    done = compare(tmp_path, *words, "--", "sh", "-c", BY_FLAGS)
    assert done.returncode == 0, done.stderr
    assert "mine.toml against none: faster: 2.000 times as fast" in done.stdout
    assert "Repeat: jaxgpu-tune compare none mine.toml --metric" in done.stdout
    assert "pair" not in done.stderr and "best.toml" in done.stderr
    told = json.loads((tmp_path / "r.json").read_text())
    flag = "--xla_backend_optimization_level=0"
    assert told["winner"] == "mine.toml" and told["variants"][1]["settings"] == {"XLA_FLAGS": flag}
    assert told["machine"]["jaxlib"] and len(told["variants"][0]["trials"]) == 7
    assert 'flag = "xla_backend_optimization_level"\nvalue = "0"' in (tmp_path / "best.toml").read_text()


def test_json_only_on_stdout_and_the_exit_code_of_a_failed_reference(tmp_path: Path) -> None:
    """For a script."""
    done = compare(tmp_path, "none", "clean", "--json", "--", "sh", "-c", "exit 7")
    assert done.returncode == 1 and json.loads(done.stdout)["variants"][0]["trials"][0]["exit_code"] == 7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("none", "fsdp"), "after two dashes"),
        (("none", "--", "true"), "There is nothing to compare"),
        (("none", "fsdpp", "--", "true"), "Did you mean 'fsdp'?"),
        (("none", "fsdp", "--budget", "soon", "--", "true"), "Allowed: a number of seconds, or 90s, 20m, 1.5h."),
        (("none", "fsdp", "--metric", "(", "--pairs", "0", "--", "true"), "--pairs 0 is not valid"),
        (("none", "fsdp", "--higher-is-better", "--", "true"), "needs --metric"),
        (("--python", "nowhere/python", "--python", sys.executable, "--", "true"), "there is no such command"),
        (("--python", sys.executable, "--", "true"), "give two or more"),
        (("--python", "a", "--python", "b", "none", "fsdp", "--", "true"), "at most one VARIANT"),
        (("--python", "a/python", "--python", "b/python", "none", "--", "true"), "there is no such command"),
        (("none", "--", "true"), "1 VARIANT was given"),
        (("none", "fsdp", "--percentile", "100", "--", "true"), "a number between 0 and 100"),
        (("none", "fsdp", "--caches", "hot", "--", "true"), "'cold', 'warm'"),
    ],
)
@pytest.mark.usefixtures("this_jaxlib")
def test_wrong_use_is_told(words: tuple[str, ...], says: str) -> None:
    """Exit code 2, and what to write."""
    done = call("compare", *words)
    assert done.exit_code == 2 and says in " ".join(done.stderr.split()) and not done.stdout


NOT_GIVEN = {one.name: one.absent for one in PARAMETERS}


def test_what_is_asked_of_the_measurement() -> None:
    """As it is typed, and by default as a call of the function measures."""
    assert _protocol(NOT_GIVEN) == Protocol()
    typed = {"pairs": 1, "seconds": "5", "whole": True, "metric": "x(.*)", "higher_is_better": True, "percentile": "99"}
    asked = Protocol(1, 5.0, True, "x(.*)", True, 99.0, timeout=90.0, budget=600.0, caches="warm")
    assert _protocol({**NOT_GIVEN, **typed, "timeout": "90s", "budget": "10m", "caches": "warm"}) == asked


@pytest.mark.parametrize("text", ["0", "100", "-1", "nan", "most"])
def test_a_percentile_is_between_0_and_100(text: str) -> None:
    with pytest.raises(BadSetting, match=f"--percentile '{text}' is not valid"):
        _protocol({**NOT_GIVEN, "percentile": text})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_shows_what_is_there_and_ends_the_program(tmp_path: Path, number: signal.Signals) -> None:
    """By the exit code of an interrupted command; a scheduler's signal is taken alike."""
    own = f"77.{os.getpid()}"  # the same test may run elsewhere on this host
    command = [*COMPARE, "none", "clean", "--metric", r"took (\d+)", "--", "sh", "-c", f"echo took 1; exec sleep {own}"]
    child = subprocess.Popen(command, cwd=tmp_path, env=clean_environ(), stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 300
    while time.monotonic() < end and not any(own in line for line in processes()):
        time.sleep(0.1)
    child.send_signal(number)
    said = child.communicate(timeout=300)[0]
    assert child.returncode == 130 and "It was interrupted; this is what there was." in said
    assert not any(own in line for line in processes())


def processes() -> list[str]:
    """The command lines of all sleeping processes of this host."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"sleep":
            found.append(b" ".join(words).decode())
    return found


def test_a_variant_that_sets_nothing_is_told_before_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Finding(EMPTY_VARIANT, "note", "b sets nothing here.")
    other = Finding("other", "warning", "told at the end")
    _tell_empty((Arm("a", {}, ("x",)), Arm("b", {}, ("x",), {}, (other, empty))))
    assert capsys.readouterr().err == "note: b sets nothing here.\n"
