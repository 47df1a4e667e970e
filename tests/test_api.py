"""The public functions: what each takes, refuses and leaves alone, and what README shows of them."""

from __future__ import annotations

import json

import pytest

import jaxgpu_tune
from jaxgpu_tune import Machine, plan
from jaxgpu_tune.render.text import render_text
from tests.child import ROOT
from tests.fleet import codes, machine


def test_readme_shows_what_is_printed() -> None:
    """The plan for the captured machine, with the flags of another time, word for word."""
    text = (ROOT / "README.md").read_text("utf-8")
    flags = text.split('export XLA_FLAGS="')[1].split('"')[0]
    shown = text.split("$ jaxgpu-tune plan fsdp\n")[1].split("\n```")[0]
    captured = Machine.from_dict(json.loads((ROOT / "tests" / "machines" / "h200x2_captured.json").read_text()))
    assert render_text(plan("fsdp", machine=captured, environ={"XLA_FLAGS": flags}), 100) == shown


def test_environ_is_the_whole_environment_of_a_fresh_process() -> None:
    made = jaxgpu_tune.environ("fsdp", base={"PATH": "/bin", "XLA_FLAGS": "--xla_dump_to=a"}, machine=machine())
    assert (
        made["PATH"] == "/bin" and "--xla_dump_to=a" in made["XLA_FLAGS"] and "pipeline_all_gather" in made["XLA_FLAGS"]
    )
    assert jaxgpu_tune.environ("fsdp", base=made, machine=machine()) == made


@pytest.mark.parametrize("base", [{"A": 1}, {1: "a"}, {"A": None}])
def test_environ_refuses_a_base_that_is_no_environment(base: dict[object, object]) -> None:
    with pytest.raises(jaxgpu_tune.BadSetting, match=r"^base="):
        jaxgpu_tune.environ("fsdp", base=base, machine=machine())


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (plan, {"jaxlib": "x"}),
        (plan, {"jaxlib": 5}),
        (plan, {"environ": {"XLA_FLAGS": None}}),
        (plan, {"layer_bytes": 2**63}),
        (plan, {"processes_per_gpu": 10**30}),
        (plan, {"env": {"A": "x\0"}}),
        (plan, {"env": {"JAXGPU_TUNE_STATE": "{}"}}),
        (plan, {"flags": {"xla_dump_to": "\0"}}),
        (plan, {"compilation_cache": ""}),
        (plan, {"flags": {"xla_force_host_platform_device_count": -1}}),
        (plan, {"flags": {"xla_gpu_enable_command_buffer": "FUSION,nope"}}),
        (plan, {"flags": {"xla_dump_to": "\ud800"}}),
        (plan, {"env": {"A": "\ud800"}}),
        (plan, {"env": {"\ud800": "a"}}),
        (plan, {"env": {"XLA_FLAGS": "--xla_dump_to=\0"}}),
        (plan, {"jax_config": {"jax_platforms": "cpu\0"}}),
        (plan, {"compilation_cache": "\ud800"}),
        (plan, {"environ": {"A": "\0"}}),
        (plan, {"environ": {"A\0": ""}}),
        (plan, {"environ": 3}),
        (jaxgpu_tune.environ, {"base": []}),
        (jaxgpu_tune.explain, {"name": 3}),
        (jaxgpu_tune.explain, {"name": None}),
        (jaxgpu_tune.check, {"xla_flags": "--xla_dump_to=\0"}),
        (jaxgpu_tune.check, {"xla_flags": "\ud800"}),
        (jaxgpu_tune.migrate, {"xla_flags": "--xla_dump_to=\0"}),
        (jaxgpu_tune.check, {"xla_flags": 5}),
        (jaxgpu_tune.migrate, {"xla_flags": None}),
        (jaxgpu_tune.migrate, {"xla_flags": "", "to": "x"}),
    ],
)
def test_what_is_no_argument_raises_the_librarys_own_error(function: object, arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - which of the library's errors is told by its class
        function(**arguments)  # type: ignore[operator]
    assert isinstance(caught.value, jaxgpu_tune.JaxGpuTuneError)


@pytest.mark.parametrize("text", ["off", "OFF", " off\n", '"off"', "'Off'", "0", "false", "No"])
def test_off_leaves_every_call_without_effect(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, base = machine(), {"JAXGPU_TUNE": text, "PATH": "/bin"}
    assert jaxgpu_tune.environ("fsdp", base=base, machine=here) == base
    monkeypatch.setenv("JAXGPU_TUNE", text)
    assert jaxgpu_tune.environ("fsdp", base={}, machine=here) == {}
    assert jaxgpu_tune.compiler_options("fsdp", machine=here) == {}
    assert "bad-switch" not in codes(jaxgpu_tune.plan("fsdp", machine=here))


@pytest.mark.parametrize(
    ("text", "told"), [("", 0), ("on", 0), ("1", 0), ("True", 0), ('"yes"', 0), ("disable", 1), ("offf", 1), ("2", 1)]
)
def test_what_says_neither_on_nor_off_is_on_and_is_said(text: str, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXGPU_TUNE", text)
    here = machine()
    assert jaxgpu_tune.compiler_options("fsdp", machine=here)
    assert "XLA_FLAGS" in jaxgpu_tune.environ("fsdp", base={}, machine=here)
    found = [f for f in jaxgpu_tune.plan("fsdp", machine=here).findings if f.code == "bad-switch"]
    assert len(found) == told and all(repr(text) in f.message and f.severity == "warning" for f in found)
