"""Which path is taken is decided from facts, and each reason against the kernels names itself."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import pytest

from jaxgpu_tune.comms.choice import MeshFacts, against_facts, against_message, against_rows, kernel_for
from jaxgpu_tune.comms.shapes import one_shot_bytes

FINE = MeshFacts(
    world=2,
    platforms=("gpu",),
    version="PJRT C API\ncuda 13000",
    capabilities=("9.0",),
    jaxlib="0.11.2",
    hosts=1,
    xla_flags="",
    compiler="",
)
CONCURRENT = "--xla_gpu_command_buffer_scheduling_mode=CONCURRENT"


def test_nothing_is_against_a_tested_machine() -> None:
    """Two H100s or H200s of one host, a jaxlib of the table."""
    assert against_facts(FINE, untested=False) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"platforms": ("cpu",)}, "the devices are cpu, not NVIDIA GPUs"),
        ({"platforms": ("cpu", "gpu")}, "the devices are cpu and gpu"),
        ({"version": "rocm 60300"}, "not NVIDIA GPUs"),
        ({"world": 1}, "1 ranks; the kernels are for 2, 4, 8"),
        ({"world": 3}, "3 ranks"),
        ({"world": 16}, "16 ranks"),
        ({"hosts": 2}, "the ranks are on 2 hosts"),
        ({"compiler": "no libnvrtc in"}, "no libnvrtc in"),
        ({"xla_flags": CONCURRENT}, "lets calls overtake each other"),
        ({"xla_flags": f"--xla_a=1 {CONCURRENT}"}, CONCURRENT),
        ({"xla_flags": "--xla_gpu_command_buffer_scheduling_mode='CONCURRENT'"}, CONCURRENT),
        ({"xla_flags": f"{CONCURRENT}_REGIONS"}, f"{CONCURRENT}_REGIONS lets"),
        ({"xla_flags": "--xla_gpu_graph_enable_concurrent_region"}, "lets calls overtake each other"),
    ],
)
@pytest.mark.parametrize("untested", [False, True])
def test_what_rules_the_kernels_out(changed: dict[str, object], reason: str, untested: bool) -> None:
    """Whether or not untested releases are asked for."""
    assert reason in against_facts(FINE._replace(**changed), untested=untested)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"jaxlib": "0.11.1"}, "jaxlib 0.11.1 is not tested; tested: 0.11.2"),
        ({"jaxlib": "0.13.0"}, "jaxlib 0.13.0 is not tested"),
        ({"capabilities": ("8.0",)}, "compute capability 8.0 is not tested"),
        ({"capabilities": ("10.0", "9.0")}, "compute capability 10.0, 9.0 is not tested"),
        ({"world": 8}, "8 ranks are not tested"),
    ],
)
def test_what_was_never_run_is_used_only_if_asked_for(changed: dict[str, object], reason: str) -> None:
    """The reason says how to ask for it."""
    facts = FINE._replace(**changed)
    assert reason in against_facts(facts, untested=False)
    assert "untested=True" in against_facts(facts, untested=False)
    assert against_facts(facts, untested=True) == ""


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--xla_gpu_command_buffer_scheduling_mode=LHS",
        "--xla_gpu_command_buffer_scheduling_mode='SERIALIZE'",
        f"{CONCURRENT} --xla_gpu_command_buffer_scheduling_mode=SERIALIZE",
        "--xla_gpu_graph_enable_concurrent_region=false",
    ],
)
def test_other_scheduling_is_no_reason(flags: str) -> None:
    """The last flag of a name counts."""
    assert against_facts(FINE._replace(xla_flags=flags), untested=False) == ""


def test_flags_in_a_file_are_read(tmp_path: Path) -> None:
    """XLA_FLAGS may name a file."""
    file = tmp_path / "flags"
    file.write_text(f"--xla_a=1\n{CONCURRENT}\n")
    assert CONCURRENT in against_facts(FINE._replace(xla_flags=str(file)), untested=False)


@pytest.mark.parametrize(
    ("shape", "dtype", "reason"),
    [
        ((8, 4096), jnp.bfloat16, ""),
        ((4,), jnp.float32, ""),
        ((1 << 18,), jnp.float32, ""),
        ((8,), jnp.float64, "float64; the kernels are for bfloat16, float16, float32"),
        ((8,), jnp.int32, "int32"),
        ((8,), jnp.float8_e4m3fn, "float8_e4m3fn"),
        ((7,), jnp.bfloat16, "14 bytes, which is no multiple of 16"),
        ((0, 8), jnp.bfloat16, "0 bytes"),
        ((1 << 18, 2), jnp.float32, "2097152 bytes, more than max_bytes=1048576"),
    ],
)
def test_which_messages_a_kernel_serves(shape: tuple[int, ...], dtype: object, reason: str) -> None:
    """By type, by size up to max_bytes, and in whole vectors."""
    found = against_message(shape, dtype, 1 << 20)
    assert found.startswith(reason) and bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("width", "gamma", "reason"),
    [
        (4096, jnp.bfloat16, ""),
        (4096, jnp.float32, ""),
        (1 << 15, jnp.bfloat16, ""),
        (4096, jnp.float16, "gamma of type float16"),
        (100, jnp.bfloat16, "rows of 200 bytes"),
        ((1 << 15) + 8, jnp.bfloat16, "rows of 65552 bytes"),
    ],
)
def test_which_rows_the_fused_kernel_serves(width: int, gamma: object, reason: str) -> None:
    """Rows that a block holds in registers, and gamma of their type or float32."""
    found = against_rows((8, width), jnp.bfloat16, gamma, 2)
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_large_messages_go_in_two_steps_where_that_moves_less() -> None:
    """Never with two ranks; with more of them above a size."""
    assert kernel_for(1 << 30, 2) == "one-shot"
    for world in (4, 8):
        most = one_shot_bytes(world)
        assert kernel_for(most, world) == "one-shot"
        assert kernel_for(2 * most, world) == "two-shot"
        assert kernel_for(most + 16, world) == "two-shot"
