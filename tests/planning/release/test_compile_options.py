"""``compiler_options``: each is taken by a real ``jax.jit`` on a CPU, and in that surface's own spelling."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.compile_surface import ENUM_FIELDS, OTHER_NAMES, PROCESS_WIDE
from jaxgpu_tune.model import Machine
from tests.child import told
from tests.fleet import machine

INSTALLED = version("jaxlib")
PIPELINING = "xla_gpu_enable_pipelined_all_gather"
EARLY_EXIT = "xla_gpu_experimental_early_exit"
"""It ends every compilation with an error: that is its purpose."""
JIT_EACH = """
import sys, jax
def refusal(options):
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(1.0).compile()
    except Exception as error:
        return str(error)
    return None
tell({name: refusal(options) for name, options in json.loads(sys.argv[1]).items()})
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XLA_FLAGS", "JAXGPU_TUNE", "JAXGPU_TUNE_MACHINE", "JAXGPU_TUNE_PRESET"):
        monkeypatch.delenv(name, raising=False)


def options(
    flags: dict[str, Any] | None = None, preset: str = "single_gpu", jaxlib: str = "0.12.0.1", **more: Any
) -> Any:
    return jaxgpu_tune.compiler_options(preset, machine=machine(jaxlib=jaxlib), flags=flags, **more)


def refused(asked: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What the installed jaxlib says against each set of options, in one child process."""
    answers = told(JIT_EACH, argv=(json.dumps(asked),), JAX_PLATFORMS="cpu")
    return {name: answer for name, answer in answers.items() if answer is not None}


@pytest.mark.skipif(INSTALLED not in known.releases(), reason="this jaxlib is in no table")
def test_jit_takes_every_option_of_every_preset() -> None:
    asked = {p.name: options(preset=p.name, jaxlib=INSTALLED) for p in jaxgpu_tune.presets()}
    assert sum(map(bool, asked.values())) > 5
    assert refused(asked) == {}


def test_options_for_absent_gpus_are_given_where_jax_runs_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that compiles for another machine has to keep JAX on the CPU."""
    given = options(preset="fsdp")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert options(preset="fsdp") == given != {}


AWKWARD: dict[str, Any] = {
    "an enum": {"xla_gpu_enable_while_loop_unrolling": "WHILE_LOOP_UNROLLING_AUTO_UNROLL"},
    "a list": {"xla_gpu_enable_command_buffer": "cublas,fusion"},
    "an empty list": {"xla_gpu_enable_command_buffer": ""},
    "a change of a list": {"xla_gpu_enable_command_buffer": "+collectives,-cudnn"},
    "names of passes": {"xla_disable_hlo_passes": "rematerialization,some-pass"},
    "a float of zero": {"xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0},
    "a float": {"xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0.5},
    "a name without a field": {PIPELINING: True},
    "a default by a name without a field": {PIPELINING: False},
    "a name that is another in the field": {"xla_gpu_executable_terminate_timeout": 90},
    "a switch for an enum": {"xla_gpu_enable_libnvjitlink": True},
    "a level": {"xla_gpu_enable_triton_gemm": False},
    "collectives": {"xla_gpu_disable_async_collectives": "allreduce"},
}


def defined(name: str) -> bool:
    """Whether the installed release has the flag, and a place of its own for the value: what has none is refused."""
    spec = known.flag(name, INSTALLED)
    return spec is not None and not spec.undefined


@pytest.mark.skipif(INSTALLED not in known.releases(), reason="this jaxlib is in no table")
def test_jit_takes_what_is_awkward_to_say() -> None:
    there = {what: flags for what, flags in AWKWARD.items() if all(map(defined, flags))}
    asked = {what: options(flags, jaxlib=INSTALLED) for what, flags in there.items()}
    assert len(asked) > 5
    assert refused(asked) == {}


@pytest.mark.slow
@pytest.mark.skipif(INSTALLED not in known.releases(), reason="this jaxlib is in no table")
def test_jit_takes_another_value_of_every_flag() -> None:
    """Whatever GPU flag is asked for, what is returned is taken (the CPU acts on its own flags, also on bad ideas)."""
    texts = {n: other_value(n) for n in known.flags(INSTALLED) if n.startswith("xla_gpu_") and defined(n)}
    asked = {name: sayable({name: text}) for name, text in texts.items() if text is not None}
    assert sum(map(bool, asked.values())) > 100
    answers = refused({name: found for name, found in asked.items() if found})
    assert {name: why for name, why in answers.items() if name != EARLY_EXIT} == {}


def other_value(name: str) -> str | None:
    """A text that is accepted and changes something, if one is easily found."""
    spec = known.flag(name, INSTALLED)
    assert spec is not None
    tried = ("true", "false", "7", "0", "0.5", "-1", *spec.members, "1m30s", "")
    fits = (t for t in tried if not known.check_value(spec, t, INSTALLED) and not known.is_default(spec, t))
    return next(fits, None)


def sayable(flags: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = options(flags, jaxlib=INSTALLED)
    return found


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"xla_gpu_enable_triton_gemm": "0"}, {"xla_gpu_enable_triton_gemm": False}),
        (
            {"xla_gpu_all_gather_combine_threshold_bytes": "1024"},
            {"xla_gpu_all_gather_combine_threshold_bytes": 1024},
        ),
        (
            {"xla_gpu_enable_while_loop_unrolling": "WHILE_LOOP_UNROLLING_FULL_UNROLL"},
            {"xla_gpu_enable_while_loop_unrolling": "WHILE_LOOP_UNROLLING_FULL_UNROLL"},
        ),
        ({"xla_gpu_disable_async_collectives": "allreduce"}, {"xla_gpu_disable_async_collectives": "ALLREDUCE"}),
        ({"xla_gpu_enable_command_buffer": ""}, {"xla_gpu_enable_command_buffer": ""}),
        ({PIPELINING: True}, {"xla_gpu_pipeline_all_gather": "COLLECTIVE_PIPELINING_MODE_ON"}),
        ({"xla_gpu_executable_terminate_timeout": 90}, {"xla_gpu_executable_terminate_timeout_seconds": 90}),
    ],
)
def test_values_have_this_surfaces_spelling(flags: dict[str, Any], expected: dict[str, Any]) -> None:
    found = options(flags)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


def test_a_float_of_zero_is_text_and_others_are_floats() -> None:
    name = "xla_gpu_auto_spmd_partitioning_memory_budget_ratio"
    assert options({name: 0}) == {name: "0.0"}
    assert options({name: 0.5}) == {name: 0.5}


def test_a_change_of_a_list_is_said_as_the_whole_list() -> None:
    spec = known.flag("xla_gpu_enable_command_buffer", "0.12.0.1")
    assert spec is not None
    said = options({spec.name: "+COLLECTIVES"})[spec.name].split(",")
    assert "COLLECTIVES" in said and len(said) > 1
    assert not any(member[0] in "+-" for member in said)


def test_the_older_name_is_used_where_it_is_the_field() -> None:
    assert options({"xla_gpu_pipeline_all_gather": "on"}, jaxlib="0.11.0") == {PIPELINING: True}


@pytest.mark.parametrize("jaxlib", ["0.4.35", "0.4.18"])
def test_before_jit_took_any_there_are_none(jaxlib: str) -> None:
    assert options(preset="fsdp", jaxlib=jaxlib) == {}


@pytest.mark.parametrize("jaxlib", ["0.4.36", "0.5.3"])
def test_before_0_6_0_members_have_no_names_and_lists_cannot_be_said(jaxlib: str) -> None:
    """Real jaxlibs 0.4.38 and 0.5.3: "not a valid enum value", and a failed check for a list of texts."""
    flags = {"xla_gpu_enable_command_buffer": "FUSION", "xla_disable_hlo_passes": "a", "xla_gpu_autotune_level": 2}
    flags |= {"xla_gpu_shape_checks": "IGNORE"}
    assert options(flags, jaxlib=jaxlib) == {"xla_gpu_autotune_level": 2}
    empty = options({"xla_gpu_enable_command_buffer": ""}, jaxlib=jaxlib)
    assert empty == ({"xla_gpu_enable_command_buffer": ""} if jaxlib == "0.5.3" else {})


@pytest.mark.parametrize(
    ("jaxlib", "expected"),
    [
        ("0.12.0.1", {"optimization_level": "O1"}),
        ("0.11.1", {"optimization_level": "O1"}),
        ("0.11.0", {"optimization_level": 19}),
        ("0.5.1", {"optimization_level": 19}),
        ("0.4.38", {"exec_time_optimization_effort": 0.2}),
    ],
)
def test_the_optimization_level(jaxlib: str, expected: dict[str, Any]) -> None:
    assert options(jaxlib=jaxlib, jax_config={"jax_optimization_level": "O1"}) == expected


def test_each_level_and_effort_goes_by_its_own_name() -> None:
    """What is not stated is not said."""
    both = {"jax_optimization_level": "O2", "jax_memory_fitting_level": "O3"}
    assert options(jax_config=both) == {"optimization_level": "O2", "memory_fitting_level": "O3"}
    assert options(jaxlib="0.11.0", jax_config=both) == {"optimization_level": 29, "memory_fitting_level": 39}
    fitting = {"jax_memory_fitting_level": "O0"}
    assert options(jaxlib="0.11.0", jax_config=fitting) == {"memory_fitting_level": 9}
    efforts = {"jax_exec_time_optimization_effort": 0.5, "jax_memory_fitting_effort": 0.25}
    assert options(jaxlib="0.5.1", jax_config=efforts) == {
        "exec_time_optimization_effort": 0.5,
        "memory_fitting_effort": 0.25,
    }


def test_variables_and_other_options_are_left_out() -> None:
    found = options(
        preset="debug", memory_fraction=0.5, env={"NCCL_DEBUG": "INFO"}, jax_config={"jax_enable_x64": True}
    )
    assert all(name.startswith("xla_") for name in found)


@pytest.mark.parametrize("name", sorted(PROCESS_WIDE))
def test_what_acts_on_the_whole_process_is_left_out(name: str) -> None:
    spec = known.flag(name, "0.12.0.1")
    if spec is None:
        pytest.skip("not in this release")
    tried = ("true", "false", "7", "1m", "a=7", *spec.members)
    text = next(t for t in tried if not known.check_value(spec, t, "0.12.0.1"))
    assert options({name: text}) == {}


def test_every_authored_name_is_a_flag_of_some_release() -> None:
    assert {n for n in (*PROCESS_WIDE, *OTHER_NAMES, *ENUM_FIELDS) if not known.known(n)} == set()


def test_what_is_inherited_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=2 --xla_gpu_enable_triton_gemm=false")
    assert options({"xla_gpu_autotune_level": 3}) == {"xla_gpu_autotune_level": 3}


def test_an_inherited_value_is_taken_back_by_saying_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA_FLAGS acts under these options, so that leaving a flag out would leave the inherited value in force."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=2")
    assert options({"xla_gpu_autotune_level": 4}) == {"xla_gpu_autotune_level": 4}
    assert options({"xla_gpu_autotune_level": None}) == {"xla_gpu_autotune_level": 4}
    assert options() == {}


def test_a_list_that_is_inherited_is_part_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_disable_hlo_passes=some-pass")
    found = jaxgpu_tune.compiler_options("dreamerv3", machine=machine(jaxlib="0.12.0.1"))
    assert found["xla_disable_hlo_passes"] == "some-pass,rematerialization"


def test_plugin_and_jaxlib_must_both_take_it() -> None:
    older = machine(jaxlib="0.11.1", plugins={"jax-cuda13-pjrt": "0.11.0"})
    assert jaxgpu_tune.compiler_options("single_gpu", machine=older, flags={PIPELINING: True}) in (
        {},
        {PIPELINING: True},
    )


def test_without_a_jaxlib_there_are_none() -> None:
    assert jaxgpu_tune.compiler_options("fsdp", machine=Machine()) == {}
