"""What every command takes, as data: of a kind that is read, told in a sentence, and an argument of the command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgpu_tune.cli as package
from jaxgpu_tune.cli.completion import offers
from jaxgpu_tune.cli.group import LazyGroup
from jaxgpu_tune.cli.parameters import Argument, Option

KINDS = {"text", "number", "switch", "on_off", "many"}
PLACEHOLDERS = {
    *("BYTES", "COMMAND", "FILE", "FOLDER", "FRACTION", "KIND", "LEVEL", "N", "NAME", "P"),
    *("PRESET", "PROFILE", "PYTHON", "REGEX", "SECONDS", "SHARE", "SOURCE", "TEXT", "VALUE", "VARIANT", "VERSION"),
    *("V1", "V2"),
}
"""The words in capitals that stand for what is typed; FILE and FOLDER are the only ones for paths, but for SOURCE, which may be either."""
CALLED = {
    *("--all everything", "--as kind", "--exit exit_with", "--file files", "--flags text", "--format form"),
    *("--from-jaxlib old", "--grep pattern", "--higher-is-better higher_is_better", "--json as_json", "--kind kinds"),
    *("--one-at-a-time alone", "--python pythons", "--to release", "--to target", "-v verbose"),
}
"""Options whose value has another name in the code."""
ROOT = Path(package.__file__).parent


def modules() -> Iterator[Any]:
    """Every module of a command, subcommands included."""
    for path in sorted(ROOT.rglob("*.py")):
        place = ".".join(("jaxgpu_tune.cli", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        module = import_module(place)
        if hasattr(module, "PARAMETERS") and hasattr(module, "command"):
            yield module


MODULES = list(modules())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_what_a_command_takes(module: Any) -> None:
    """Each is an argument of its function, and none of that is left over."""
    taken = inspect.signature(module.command).parameters
    names = [one.name for one in module.PARAMETERS]
    assert len(set(names)) == len(names)
    assert any(one.kind is one.VAR_KEYWORD for one in taken.values()) or set(names) == set(taken)
    for one in module.PARAMETERS:
        if isinstance(one, Option):
            assert one.kind in KINDS and re.fullmatch("-[a-z]|--[a-z][a-z-]+", one.spelled) and one.help.endswith(".")
            takes_a_value = one.kind in ("text", "number", "many")
            assert bool(one.metavar or one.choices) is takes_a_value
            assert one.name == one.spelled[2:].replace("-", "_") or f"{one.spelled} {one.name}" in CALLED
            assert not one.choices or one.default in (None, *one.choices)
        else:
            assert isinstance(one, Argument) and one.metavar.replace("[", "").replace("]", "").rstrip(".").isupper()
            assert one.metavar in ("-- COMMAND...", "NAME") or one.required is not one.metavar.startswith("[")
        assert {word for word in re.findall(r"\w+", one.metavar) if word.isupper()} <= PLACEHOLDERS
        assert isinstance(offers(one.completes, ""), list) if one.completes else True
        assert one.metavar.count("[") == one.metavar.count("]")
    assert module.command.__doc__ and all(isinstance(example, tuple) or example for example in module.EXAMPLES)


WORDS = st.text("ab=./ -é", min_size=1, max_size=4).map(lambda text: f"x{text}")
TYPED: dict[str, st.SearchStrategy[Any]] = {
    "text": WORDS,
    "number": st.integers(),
    "many": st.lists(WORDS, max_size=2).map(tuple),
    "switch": st.booleans(),
    "on_off": st.sampled_from([None, True, False]),
}
"""What each kind of option may be given."""


def spelled(option: Option, value: Any) -> list[str]:
    """How a value is typed; nothing where it is the one that the command gets without."""
    if option.kind in ("switch", "on_off"):
        return (
            [f"--no-{option.spelled[2:]}" if value is False else option.spelled] if value is not option.absent else []
        )
    return [word for one in (value if option.kind == "many" else (value,)) for word in (option.spelled, str(one))]


@settings(max_examples=75, deadline=None)
@given(data=st.data())
def test_every_value_that_is_typed_reaches_its_command(data: st.DataObject) -> None:
    """Of all commands: under the option's name and as its kind says; what is not typed is as the command says."""
    module = data.draw(st.sampled_from(MODULES))
    options = [one for one in module.PARAMETERS if isinstance(one, Option)]
    chosen = data.draw(st.lists(st.sampled_from(options), unique_by=id, max_size=5))
    values = {
        one.name: data.draw(st.sampled_from(one.choices) if one.choices else TYPED[one.kind], one.name)
        for one in chosen
    }
    arguments = [one for one in module.PARAMETERS if isinstance(one, Argument)]
    words = {one.name: ("run", "-x") if one.name == "program" else ("x",) for one in arguments}
    line = [word for one in chosen for word in spelled(one, values[one.name])]
    before = [word for one in arguments if one.name != "program" for word in words[one.name]]
    behind = ["--", *words["program"]] if "program" in words else []
    read = group_of(module).make_context("x", [*line, *before, *behind]).params
    absent = {one.name: one.absent for one in module.PARAMETERS}
    told = {one.name: words[one.name] if one.many else words[one.name][0] for one in arguments}
    assert read == absent | values | told


def group_of(module: Any) -> click.Command:
    """The command as click has it."""
    package, _, name = module.__name__.rpartition(".")
    found = LazyGroup(names=(name,), package=package).get_command(click.Context(click.Command("x")), name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("parameter", "absent"),
    [
        (Option("a", "--a", "many", ""), ()),
        (Option("a", "--a", "switch", ""), False),
        (Option("a", "--a", "on_off", ""), None),
        (Option("a", "--a", "text", ""), None),
        (Option("a", "--a", "number", "", default=3), 3),
        (Argument("a", "A", many=True), ()),
        (Argument("a", "A", default="auto"), "auto"),
        (Argument("a", "A"), None),
    ],
)
def test_what_is_not_given(parameter: Option | Argument, absent: object) -> None:
    assert parameter.absent == absent


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_no_two_options_are_spelled_alike(module: Any) -> None:
    """The forms with ``--no-`` included."""
    options = [one for one in module.PARAMETERS if isinstance(one, Option)]
    spelled = [one.spelled for one in options]
    spelled += [f"--no-{one.spelled[2:]}" for one in options if one.kind == "on_off"]
    assert len({*spelled}) == len(spelled)
