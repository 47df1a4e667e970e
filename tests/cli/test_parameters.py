"""What every command takes, as data: of a kind that is read, told in a sentence, and an argument of the command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune.cli as package
from jaxgpu_tune.cli.completion import offers
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
    *("--from-jaxlib old", "--grep pattern", "--higher-is-better higher", "--json as_json", "--kind kinds"),
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


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: module.__name__.rpartition(".")[2])
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


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: module.__name__.rpartition(".")[2])
def test_no_two_options_are_spelled_alike(module: Any) -> None:
    """The forms with ``--no-`` included."""
    options = [one for one in module.PARAMETERS if isinstance(one, Option)]
    spelled = [one.spelled for one in options]
    spelled += [f"--no-{one.spelled[2:]}" for one in options if one.kind == "on_off"]
    assert len({*spelled}) == len(spelled)
