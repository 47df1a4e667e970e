"""A name that means something in the field is told as what it is, wherever another is asked for; no nearest name is offered for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags, options, variables
from jaxgpu_tune.knowledge.presets import preset_names
from jaxgpu_tune.knowledge.real_names import OF_TPUS, elsewhere, other_names, real_name
from jaxgpu_tune.knowledge.tables import read_table
from tests.fleet import machine

H100 = machine(jaxlib="0.11.2")
ELSEWHERE = {one["name"]: one["is"] for one in read_table("names")["platform"]}
PLATFORMS = [*ELSEWHERE, "METAL", "ROCM"]
FLAG, OPTION, VARIABLE = "xla_gpu_autotune_level", "jax_enable_x64", "NCCL_DEBUG"
OF_ANOTHER_PLACE = [*PLATFORMS, "xla_tpu_spmd_x", "megascale_y"]


def told(call: Callable[[], object]) -> str:
    """What the error says."""
    with pytest.raises(jaxgpu_tune.JaxGpuTuneError) as caught:
        call()
    return str(caught.value)


def plan(preset: str = "auto", **given: Any) -> jaxgpu_tune.Report:
    """For eight H100."""
    return jaxgpu_tune.plan(preset, machine=H100, environ={}, **given)


PLACES: dict[str, Callable[[str], object]] = {
    "preset": plan,
    "joined preset": lambda name: plan(f"fsdp+{name}"),
    "argument": lambda name: plan(**{name: 1}),
    "flag": lambda name: plan(flags={name: "1"}),
    "option": lambda name: plan(jax_config={name: 1}),
    "explained": jaxgpu_tune.explain,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*OF_ANOTHER_PLACE, FLAG, OPTION, VARIABLE])
def test_a_real_name_in_the_wrong_place_is_told_as_what_it_is(place: str, name: str) -> None:
    if (place, name) in (("flag", FLAG), ("option", OPTION)) or (place == "explained" and name not in OF_ANOTHER_PLACE):
        return
    said, real = told(lambda: PLACES[place](name)), real_name(name)
    assert real is not None and real.what in said and real.instead in said
    assert "Did you mean" not in said and "nearest" not in said


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_platform_of_jax_that_is_not_ours_is_told_so(name: str) -> None:
    said = told(lambda: plan(platform=name))
    assert "allowed: 'cpu', 'cuda'" in said and ELSEWHERE[name.lower()] in said and "Did you mean" not in said
    listed = plan(jax_config={"jax_platforms": name})
    assert all("did you mean" not in finding.message for finding in listed.findings)
    assert elsewhere("cuda") is elsewhere("cpu") is elsewhere("gpus") is None


def test_a_platform_that_is_ours_leads_to_its_argument() -> None:
    assert "Pass platform='cuda'." in told(lambda: plan("cuda")) and "Pass platform='cpu'." in told(lambda: plan("cpu"))


def test_every_flag_option_and_variable_is_known_as_one() -> None:
    """Of any release, with dashes and a value or without."""
    for name in flags.names():
        assert real_name(name).argument == real_name(f"--{name}=1").argument == "flags"  # type: ignore[union-attr]
    for release in (options.releases()[0], options.releases()[-1]):
        assert all(real_name(name.upper()).argument == "jax_config" for name in options.names(release))  # type: ignore[union-attr]
    for names in variables.spellings().values():
        assert all(real_name(name) is not None for name in names)
    assert all(real_name(f"{start}anything") is not None for start in OF_TPUS)


@pytest.mark.parametrize(
    "name", ["fspd", "xla_gpu_autotune_levle", "NCCL_DEBUGG", "jax_enable_x46", "memory_fracton", "anything"]
)
def test_a_misspelt_name_is_none(name: str) -> None:
    """So a nearest one may be offered."""
    assert real_name(name) is None


def test_a_flag_of_other_releases_is_not_taken_for_another() -> None:
    old = plan(flags={"xla_gpu_enable_persistent_temp_buffers": "true"})
    assert all("Did you mean" not in finding.hint for finding in old.findings)
    assert any("jaxgpu-tune explain" in finding.hint for finding in old.findings)


def test_a_word_of_another_release_is_not_taken_for_another() -> None:
    """An allocator, an option's value."""
    old = machine(jaxlib="0.9.2")
    told_of = told(lambda: jaxgpu_tune.plan("auto", allocator="vmm", machine=old, environ={}))
    assert "Other releases have it." in told_of and "Did you mean" not in told_of
    older = machine(jaxlib="0.4.30")
    precision = {"jax_default_matmul_precision": "BF16_BF16_F32_X9"}
    assert "Other releases take it." in told(
        lambda: jaxgpu_tune.plan("auto", jax_config=precision, machine=older, environ={})
    )


@pytest.mark.parametrize("name", other_names())
def test_what_the_field_calls_a_preset_leads_to_it(name: str) -> None:
    assert other_names()[name] in preset_names() and name not in preset_names()
    assert f"Did you mean {other_names()[name]!r}?" in told(lambda: plan(name))
    assert f"Did you mean {other_names()[name]}?" in told(lambda: jaxgpu_tune.explain(name))


@pytest.mark.parametrize("given", ["fsdp,reproducible", "fsdp reproducible", "fsdp; reproducible"])
def test_presets_that_are_joined_otherwise_are_told_how(given: str) -> None:
    assert "Write 'fsdp+reproducible'." in told(lambda: plan(given))


@pytest.mark.parametrize(
    ("name", "instead"),
    [("xla_gpu_autotune_level", "flags"), ("jax_enable_pgle", "jax_config"), ("xla_dump_to", "flags")],
)
def test_a_flag_or_an_option_is_no_variable(name: str, instead: str) -> None:
    """A variable of that name would be read by nobody."""
    assert f'Pass {instead}={{"{name}": …}}.' in told(lambda: jaxgpu_tune.plan("auto", env={name: "2"}, environ={}))


@pytest.mark.parametrize("name", ["NCCL_LL_THRESHOLD", "NCCL_SHARP_DISABLE", "CUDA_INC_PATH", "NCCL_FASTRAK_IFNAME"])
def test_variables_of_others_are_no_misspelt_ones(name: str) -> None:
    assert variables.misspelt(name) is None


ARGUMENTS = ("memory_fraction", "preallocate", "devices", "flags", "preset", "late")


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("place", ["flag", "option", "variable"])
def test_an_argument_of_configure_that_is_given_as_a_setting_leads_to_it(place: str, name: str) -> None:
    """Also as an option of the command line, where there is one."""
    places = {**PLACES, "variable": lambda name: plan(env={name: "1"})}
    said = told(lambda: places[place](name))
    assert f"an argument of configure(). Pass {name}=…" in said and "Did you mean" not in said
    option = {"memory_fraction": "--memory-fraction", "flags": "--flag", "devices": "--devices"}.get(name)
    assert option is None or f"on a command line {option}." in said


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("PYTORCH_CUDA_ALLOC_CONF", "PyTorch"),
        ("TORCH_NCCL_BLOCKING_WAIT", "PyTorch"),
        ("NVTE_FUSED_ATTN", "Transformer Engine"),
        ("OMP_NUM_THREADS", "OpenMP"),
        ("CUBLAS_WORKSPACE_CONFIG", "cuBLAS"),
    ],
)
def test_a_variable_of_another_program_is_explained_by_its_reader(name: str, reader: str) -> None:
    explained = jaxgpu_tune.explain(name)
    assert explained.kind == "env" and reader in explained.does
    assert real_name(name) is not None and plan(env={name: "1"}).environ == {name: "1"}


def test_what_the_field_sets_for_pytorch_s_memory_leads_to_jax_s() -> None:
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        assert "XLA_PYTHON_CLIENT_MEM_FRACTION" in jaxgpu_tune.explain(name).traps


@pytest.mark.parametrize("name", ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "LD_LIBRARY_PATH", "TPU_NAME", "NSYS_X"])
def test_a_variable_of_a_launcher_or_a_tool_is_told_as_its(name: str) -> None:
    assert f"{name} is a variable of " in told(lambda: jaxgpu_tune.explain(name))
