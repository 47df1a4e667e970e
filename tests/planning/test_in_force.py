"""Derived settings follow what is in force, wherever it comes from and however it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.planning.in_force import InForce, Settled, in_force
from tests.fleet import decision

H100 = {
    "gpus": [{"name": "NVIDIA H100", "compute_capability": "9.0", "memory_bytes": 80 << 30, "count": 8}],
    "jaxlib": "0.11.2",
}
BUFFERS = "--xla_gpu_enable_nccl_user_buffers=true"


def fraction(preset: str = "auto", **environ: str) -> str | None:
    """The "auto" fraction."""
    report = jaxgpu_tune.plan(preset, machine=H100, environ=environ, memory_fraction="auto")
    return decision(report, "XLA_CLIENT_MEM_FRACTION").value


@pytest.mark.parametrize(
    ("preset", "environ"),
    [
        ("auto", {"XLA_FLAGS": BUFFERS}),
        ("auto", {"XLA_FLAGS": f"'{BUFFERS}'"}),
        ("auto", {"XLA_FLAGS": BUFFERS.replace("--", "\u2013")}),
        ("jax-toolbox-user-buffers", {}),
        ("FILE", {}),
    ],
)
def test_the_fraction_knows_registered_buffers_from_anywhere(
    preset: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """Inherited, damaged, or of a preset."""
    if preset == "FILE":
        file = tmp_path / "mine.toml"
        file.write_text('[[set]]\nflag = "xla_gpu_enable_nccl_user_buffers"\nvalue = true\nreason = "r"\n')
        preset = str(file)
    assert fraction() == "0.92" and fraction(preset, **environ) == "0.85"


@pytest.mark.parametrize("text", ["16384", '"16384"', " 16384 "])
def test_the_fraction_knows_the_second_pool_however_it_is_written(text: str) -> None:
    """Quotes that came along do not hide it."""
    assert fraction(XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB=text) == "0.77"


def test_a_preset_that_is_for_the_cpu_leaves_the_gpus_settings_out(tmp_path: Path) -> None:
    """As JAX_PLATFORMS=cpu that is inherited, or an argument, does."""
    file = tmp_path / "cpu.toml"
    file.write_text('extends = "fsdp"\n[[set]]\nconfig = "jax_platforms"\nvalue = "cpu"\nreason = "r"\n')
    plans = (
        jaxgpu_tune.plan(file, machine=H100, environ={}),
        jaxgpu_tune.plan("fsdp", machine=H100, environ={"JAX_PLATFORMS": "cpu"}),
        jaxgpu_tune.plan("fsdp", machine=H100, environ={}, platform="cpu"),
    )
    assert [report.xla_flags for report in plans] == ["", "", ""]


def test_a_preset_may_allow_more_than_the_gpu_has(tmp_path: Path) -> None:
    """Unified memory of a preset counts for the argument beside it, and the other way round nothing is let through."""
    file = tmp_path / "unified.toml"
    file.write_text('[[set]]\nenv = "TF_FORCE_UNIFIED_MEMORY"\nvalue = "1"\nreason = "r"\n')
    report = jaxgpu_tune.plan(file, machine=H100, environ={}, memory_fraction=2.0)
    assert decision(report, "XLA_CLIENT_MEM_FRACTION").value == "2"
    with pytest.raises(jaxgpu_tune.BadSetting, match="whole GPU"):
        jaxgpu_tune.plan(machine=H100, environ={"TF_FORCE_UNIFIED_MEMORY": "0"}, memory_fraction=2.0)


def test_nothing_is_in_force_by_itself() -> None:
    assert in_force(Settled.of(())) == InForce() == InForce((), False, False, 0)
