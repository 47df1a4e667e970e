"""How much a difference between the processes of a job matters."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.compared import severity_of


@pytest.mark.parametrize(
    ("kind", "name", "severity"),
    [
        ("xla_flag", "xla_gpu_autotune_level", "error"),
        ("xla_flag", "xla_dump_to", None),
        ("jax_config", "jax_enable_x64", "error"),
        ("env", "HOSTNAME", None),
        ("env", "NCCL_ALGO", "error"),
        ("env", "CUDA_VISIBLE_DEVICES", None),
    ],
)
def test_of_each_kind(kind: str, name: str, severity: str | None) -> None:
    """A flag or an option matters unless it is said not to; a variable only where it is said to."""
    assert severity_of(kind, name) == severity
