"""Command lines read without click are read as click reads them."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.cli import IN_A_HURRY, main
from jaxgpu_tune.cli.group import COMMANDS, group
from jaxgpu_tune.cli.parameters import Option
from jaxgpu_tune.cli.plain import read_words


def words_of(name: str) -> st.SearchStrategy[list[str]]:
    """Command lines of options, with and without values, and of loose words; many are mistakes."""
    options = [p for p in import_module(f"jaxgpu_tune.cli.{name}").PARAMETERS if isinstance(p, Option)]
    spelled = [*(o.spelled for o in options), *(f"--no-{o.spelled[2:]}" for o in options), "--xla_a=1", "--help", "-h"]
    value = st.sampled_from(["a=b", "3", "fish", "", "--json", "fsdp", "-x", "--", "0.5"])
    option = st.sampled_from(spelled)
    return st.lists(st.one_of(option, value, st.builds("{}={}".format, option, value)), max_size=5)


def read_by_click(name: str, words: list[str]) -> dict[str, Any] | None:
    """The arguments; None where click refuses them, or prints help instead."""
    command: click.Command | None = group
    for part in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), part)
    assert command is not None
    try:
        return command.make_context(name, list(words)).params
    except (click.UsageError, click.exceptions.Exit):
        return None


@pytest.mark.parametrize("name", IN_A_HURRY)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_read_plainly_is_what_click_reads(name: str, data: st.DataObject) -> None:
    """Whatever click refuses is left to it."""
    words = data.draw(words_of(name))
    plain = read_words(import_module(f"jaxgpu_tune.cli.{name}").PARAMETERS, words)
    if plain is not None:
        assert plain == read_by_click(name, words)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("line", ["env fsdp", "check --xla_gpu_autotune_level=2"])
def test_who_is_in_a_hurry_needs_no_click(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer to import than these commands take."""
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "jaxgpu_tune.cli.group", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 0


def test_what_click_reads_otherwise_is_left_to_it() -> None:
    """It takes dashes that stand alone away, and prints help."""
    parameters = import_module("jaxgpu_tune.cli.check").PARAMETERS
    assert [read_words(parameters, [word, "--xla_a=1"]) for word in ("--", "--help", "-x")] == [None] * 3


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("env", "fsdp --flag a=1 --flag=b=2 --memory-fraction 0.5 --no-preallocate --devices 8 --format fish --json"),
        ("env", ""),
        ("check", "--xla_a=1 --xla_b --jaxlib=0.11.2 --json"),
    ],
)
def test_usual_lines_are_read_plainly(name: str, line: str) -> None:
    """Otherwise nothing would be gained."""
    plain = read_words(import_module(f"jaxgpu_tune.cli.{name}").PARAMETERS, line.split())
    assert plain is not None and plain == read_by_click(name, line.split())


NESTED = {name: import_module(f"jaxgpu_tune.cli.{name}") for name in COMMANDS}
NAMES = [name.split() for name in COMMANDS if not hasattr(NESTED[name], "COMMANDS")]
NAMES += [[name, below] for name in COMMANDS for below in getattr(NESTED[name], "COMMANDS", ())]
"""Of every command, those below another one included."""
EXAMPLES = [(name, line) for name in NAMES for line, _ in import_module(f"jaxgpu_tune.cli.{'.'.join(name)}").EXAMPLES]


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_the_examples_of_the_help_are_right(name: list[str], line: str) -> None:
    """Each names its command and options that exist; and the help shows it as it is."""
    words = next(shlex.split(part) for part in _commands(line) if part.startswith("jaxgpu-tune "))
    assert words[1 : 1 + len(name)] == name and read_by_click(" ".join(name), words[1 + len(name) :]) is not None
    assert line in CliRunner().invoke(group, [*name, "--help"]).output.partition("\n  Examples:\n")[2]


def _commands(line: str) -> list[str]:
    """The simple commands of a shell's line."""
    inner = line.partition("$(")[2].partition(")")[0] or line
    return [
        part.strip()
        for piece in inner.split("&&")
        for part in piece.split(" | ")[0].split(" > ")[0].split(" >> ")[:1]
        for part in [part[part.find("jaxgpu-tune") :]]
    ]
