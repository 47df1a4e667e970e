"""The arguments of configure() as options: every one, and what is given of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.arguments import Arguments
from jaxgpu_tune.cli.call_options import PLAN, SETTINGS, mapping, plan_arguments
from jaxgpu_tune.cli.parameters import Argument, Option
from jaxgpu_tune.errors import BadSetting

NONE = {parameter.name: parameter.absent for parameter in PLAN}


def test_every_argument_has_an_option_of_its_name() -> None:
    """But what makes no sense there; a mapping has one to set and one to remove."""
    singles = {one.name for one in PLAN if not isinstance(one, Option) or one.kind != "many"}
    assert {*singles, *SETTINGS} == {"preset", *Arguments.__annotations__} - {"late"}
    for one in PLAN:
        if isinstance(one, Option):
            assert one.kind in {"text", "number", "switch", "on_off", "many"}
            assert one.spelled == f"--{one.name.replace('_', '-')}" and one.help.endswith(".")
            assert (one.absent == ()) is (one.kind == "many") and (one.absent is False) is (one.kind == "switch")
    many = {name for options in SETTINGS.values() for option in options for name in (option, f"no_{option}")}
    assert {one.name for one in PLAN if isinstance(one, Option) and one.kind == "many"} == many
    (preset,) = (one for one in PLAN if isinstance(one, Argument))
    assert (preset.name, preset.absent, preset.completes) == ("preset", "auto", "preset")


def test_what_is_not_given_is_left_out() -> None:
    assert plan_arguments(NONE) == {}
    assert plan_arguments({**NONE, "preset": "fsdp", "strict": True, "devices": 8, "probe": False}) == {
        "preset": "fsdp",
        "strict": True,
        "devices": 8,
        "probe": False,
    }


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"flag": ("a=1", "b=")}, {"flags": {"a": "1", "b": ""}}),
        ({"flag": ("a=1",), "no_flag": ("c",)}, {"flags": {"a": "1", "c": None}}),
        ({"env": ("A=x=y",), "no_env": ("B",)}, {"env": {"A": "x=y", "B": None}}),
        ({"variable": ("A=old", "B=old"), "env": ("A=new",)}, {"env": {"A": "new", "B": "old"}}),
        ({"variable": ("A=old",), "no_env": ("A",)}, {"env": {"A": None}}),
        ({"no_variable": ("A",)}, {"env": {"A": None}}),
        (
            {"config": ("a=true", "b=3", "c=null", "d=text", 'e="3"')},
            {"jax_config": {"a": True, "b": 3, "c": None, "d": "text", "e": "3"}},
        ),
        ({"memory_fraction": "0.5"}, {"memory_fraction": 0.5}),
        ({"memory_fraction": "auto"}, {"memory_fraction": "auto"}),
    ],
)
def test_what_is_given(given: dict[str, Any], made: dict[str, Any]) -> None:
    assert plan_arguments({**NONE, **given}) == made


def test_a_setting_without_a_value_and_a_machine_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="--flag 'xla_a' has no value") as raised:
        mapping(["xla_a"], "flag")
    assert raised.value.findings[0].hint == "Write --flag xla_a=VALUE (VALUE may be empty)."
    file = tmp_path / "m.json"
    file.write_text(json.dumps({"jaxlib": "0.5.1"}))
    assert plan_arguments({**NONE, "machine": str(file)})["machine"].jaxlib == "0.5.1"
    with pytest.raises(BadSetting, match="--machine '/gone' cannot be read"):
        plan_arguments({**NONE, "machine": "/gone"})
