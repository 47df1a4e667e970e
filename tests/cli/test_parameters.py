"""What a command's parameters are where nothing is given."""

from __future__ import annotations

from importlib import import_module

import pytest

from jaxgpu_tune.cli.group import COMMANDS
from jaxgpu_tune.cli.parameters import Argument, Option

MODULES = [import_module(f"jaxgpu_tune.cli.{name}") for name in COMMANDS]
SINGLE = [module for module in MODULES if hasattr(module, "PARAMETERS")]


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


def test_the_parameters_of_every_command_can_be_told_apart() -> None:
    """By name and by spelling, ``--no-`` forms included; a default is one of the choices; each is explained."""
    for module in SINGLE:
        options = [one for one in module.PARAMETERS if isinstance(one, Option)]
        spelled = [one.spelled for one in options]
        spelled += [f"--no-{one.spelled[2:]}" for one in options if one.kind == "on_off"]
        names = [one.name for one in module.PARAMETERS]
        assert len({*names}) == len(names) and len({*spelled}) == len(spelled), module.__name__
        assert all(one.help.endswith((".", ")")) for one in options), module.__name__
        assert all(one.default in one.choices for one in options if one.choices and one.default), module.__name__
    assert len(SINGLE) > 12
