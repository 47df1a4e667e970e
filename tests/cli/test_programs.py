"""Commands that run a program: where it begins, with two dashes and without."""

from __future__ import annotations

import sys

import pytest

from tests.cli.test_plain import read_by_click
from tests.cli.typed import call

RUNNERS = ("run", "profile", "compare", "tune", "bisect", "pgle record", "pgle use", "pgle check")
OWN = {"run": "fsdp", "compare": "none fsdp+mine.toml clean"}
"""The words that a command needs for itself."""


def read(name: str, *words: str) -> tuple[str, ...] | None:
    """The program that a command line runs; None where it is refused."""
    found = read_by_click(name, list(words))
    return None if found is None else found["program"]


@pytest.mark.parametrize("name", RUNNERS)
def test_a_program_needs_no_dashes_where_it_is_plain_where_it_begins(name: str) -> None:
    own, program = OWN.get(name, "").split(), (sys.executable, "-c", "pass", "--lr=0.1", "train.py")
    assert read(name, *own, *program) == read(name, *own, "--", *program) == program
    assert read(name, "--json", *own, *program) == program


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", RUNNERS)
def test_an_option_that_both_may_have_needs_dashes(name: str) -> None:
    """The line to write is told, whose own words stay in front."""
    own = OWN.get(name, "").split()
    told = call(*name.split(), *own, sys.executable, "train.py", "--json")
    assert told.exit_code == 2 and "--json is an option of jaxgpu-tune" in told.stderr
    line = " ".join(told.stderr.split()).partition("such as: ")[2].split()
    assert line[: line.index("--")] == ["jaxgpu-tune", *name.split(), *own]
    assert line[line.index("--") + 1 :] == [sys.executable, "train.py", "--json"]
    assert read(name, *line[1 + len(name.split()) :]) == (sys.executable, "train.py", "--json")


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", RUNNERS)
def test_without_a_program_nothing_runs(name: str) -> None:
    """Nor with words that are no command, which may be a misspelt preset."""
    own = OWN.get(name, "").split()
    for line in ([*own], [*own, "--"], [*own, "no-such-command", "x"]):
        told = call(*name.split(), *line)
        assert told.exit_code == 2 and "Write the command to run after two dashes: -- COMMAND..." in told.stderr
    empty = call(*name.split(), *own, "--", "")
    assert empty.exit_code == 2 and "The name of the command is empty." in empty.stderr
    assert "No such option" in call(*name.split(), *own, "--no-such", "5", sys.executable).stderr


@pytest.mark.parametrize("name", RUNNERS)
def test_help_is_this_command_s_own_without_dashes(name: str) -> None:
    shown = call(*name.split(), sys.executable, "--help")
    assert shown.exit_code == 0 and f"Usage: jaxgpu-tune {name}" in shown.stdout


@pytest.mark.parametrize("name", ["pgle use", "pgle check"])
@pytest.mark.parametrize("file", ["model.pb", "a/model.pbtxt", "."])
def test_a_profile_before_the_program_is_no_program(name: str, file: str) -> None:
    found = read_by_click(name, [file, sys.executable, "train.py"])
    assert found is not None and (found["file"], found["program"]) == (file, (sys.executable, "train.py"))


def test_variants_end_where_the_program_begins() -> None:
    found = read_by_click(
        "compare", ["none", "--pairs", "3", "fsdp+reproducible", "a/b.toml", "--seconds=1", "sh", "run.sh"]
    )
    assert found is not None and found["names"] == ("none", "fsdp+reproducible", "a/b.toml")
    assert (found["program"], found["pairs"], found["seconds"]) == (("sh", "run.sh"), 3, "1")
