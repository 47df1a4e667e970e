"""Options that became what they are by variables that this library had set."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from jaxgpu_tune.host.option_variables import options_of_variables
from jaxgpu_tune.knowledge import options

JAX = options.releases()[-1]
THREE = [f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host")]


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        ({"JAX_ENABLE_X64": (None, "true")}, {"jax_enable_x64": (False, True)}),
        ({"JAX_ENABLE_X64": ("1", "0")}, {"jax_enable_x64": (True, False)}),
        ({"JAX_ENABLE_X64": ("true", "1")}, {}),
        ({"JAX_ENABLE_X64": ("nonsense", "true")}, {"jax_enable_x64": (False, True)}),
        ({"JAX_ENABLE_X64": ("", None)}, {}),
        ({"JAX_PLATFORMS": (None, "cpu")}, {"jax_platforms": (None, "cpu")}),
        ({"JAX_CUDA_VISIBLE_DEVICES": (None, "0")}, {}),
        ({"NCCL_DEBUG": (None, "INFO"), "jax_enable_x64": (None, "true")}, {}),
        ({"JAX_NO_SUCH_OPTION": (None, "1")}, {}),
    ],
)
def test_what_they_would_be_and_what_they_are(
    touched: dict[str, tuple[str | None, str | None]], expected: object
) -> None:
    """Only where that differs, and only of variables that this jax reads."""
    assert options_of_variables(touched, JAX) == expected


def test_the_umbrella_of_the_guards_sets_three_more() -> None:
    found = options_of_variables({"JAX_TRANSFER_GUARD": (None, "log")}, JAX)
    assert found == dict.fromkeys(["jax_transfer_guard", *THREE], (None, "log"))


def test_of_the_release_that_runs() -> None:
    assert options_of_variables({"JAX_OPTIMIZATION_LEVEL": (None, "O1")}, "0.4.30") == {}
    assert options_of_variables({"JAX_OPTIMIZATION_LEVEL": (None, "O1")}, version("jax"))
