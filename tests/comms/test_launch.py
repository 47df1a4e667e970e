"""The kernels as JAX operations, in programs for CUDA."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest

from jaxgpu_tune.comms import launch
from jaxgpu_tune.comms.shapes import Shape
from tests.comms.lowering import GAMMA, SETUP, X, calls, lowered

pytestmark = pytest.mark.usefixtures("compiles_anew")


def test_a_program_calls_the_kernels() -> None:
    """In XLA's own PTX call, so that it is part of the step's CUDA graph; no other all-reduce is left."""
    program = lowered(lambda comm, x, gamma: comm.psum_add_rmsnorm(comm.psum(x), x, gamma), X, GAMMA)
    assert calls(program) == ["jaxgpu_tune_all_reduce", "jaxgpu_tune_add_rmsnorm"]
    assert "stablehlo.all_reduce" not in program and ".version 8.0" in program


def test_the_other_back_end_is_another_target_of_the_same_call() -> None:
    """Operands and attributes are those of XLA's PTX call."""
    body = lambda comm, x: comm.psum(x)  # noqa: E731
    plain, ffi = lowered(body, X), lowered(body, X, setup=SETUP._replace(backend="ffi"))
    assert calls(ffi) == [] and calls(ffi, "ffi") == ["jaxgpu_tune_all_reduce"]
    assert ffi.replace(launch.BACKENDS["ffi"], launch.BACKENDS["ptx"]) == plain
    assert "fence.acq_rel.sys" in lowered(body, X, setup=SETUP._replace(fence=True)) and "fence." not in plain


def test_rows_too_many_for_the_fused_kernel_are_summed_by_the_other() -> None:
    """What goes in two steps has no room for the one step of the fused kernel; addition and norm are XLA's then."""
    rows = jnp.ones((1024, 512), jnp.bfloat16)
    setup = SETUP._replace(shape=Shape(4, 1 << 20))
    program = lowered(lambda comm, x, gamma: comm.psum_add_rmsnorm(x, x, gamma), rows, GAMMA, setup=setup)
    assert calls(program) == ["jaxgpu_tune_all_reduce"] and "stablehlo.all_reduce" not in program


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16])
def test_every_type_is_called(dtype: Any) -> None:
    """The operands keep their types."""
    assert calls(lowered(lambda comm, x: comm.psum(x), X.astype(dtype))) == ["jaxgpu_tune_all_reduce"]
