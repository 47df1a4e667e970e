"""The kernels as JAX operations: compiled for a shape, called through XLA's PTX custom call or the launcher of this package."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from . import ffi, nvrtc
from .choice import ELEMENTS, kernel_for
from .shapes import GRID, VECTOR, Shape

__all__ = ["BACKENDS", "Setup", "add_rmsnorm", "psum"]

BACKENDS = {"ptx": "__gpu$xla.gpu.ptx", "ffi": ffi.TARGET}
"""By name, what a program calls. Both take the same operands and attributes."""
PTX_VERSION = ".version 8.0"
"""All that the kernels need; NVRTC states its own, which may be newer than the driver."""
NEWEST_TARGET = 90
"""That this version knows. The driver makes code for newer GPUs from it, too."""
WARP, MOST_THREADS = 32, 1024


class Setup(NamedTuple):
    """What of a communicator is fixed when a program is traced.

    ``objection``: why ``lax.psum`` is used; empty for the kernels. ``gives_up``: a peer that does not come in time leaves a wrong
    number instead of an error, for the probe. ``backend``: one of ``BACKENDS``. ``fence``: as
    ``AllReduce`` says.
    """

    axis: str
    shape: Shape
    architecture: str
    timeout_ns: int
    objection: str
    gives_up: bool = False
    backend: str = "ptx"
    fence: bool = False


def psum(setup: Setup, x: jax.Array, state: jax.Array) -> jax.Array:
    """The sum over the ranks of ``x``, of any shape, in its type."""
    vectors, world = x.size * x.dtype.itemsize // VECTOR, setup.shape.world
    two_shot = kernel_for(vectors * VECTOR, world) == "two-shot"
    work = -(-vectors // world) if two_shot else vectors
    kernel: dict[str, object] = {"TWO_SHOT" if two_shot else "ONE_SHOT": True, "VECTORS": vectors}
    name = "jaxgpu_tune_all_reduce"
    return _call(setup, name, kernel, _threads(-(-work // GRID)), x.dtype, jax.ShapeDtypeStruct(x.shape, x.dtype))(
        x, state
    )


def add_rmsnorm(
    setup: Setup, eps: float, x: jax.Array, residual: jax.Array, gamma: jax.Array, state: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The sum over the ranks of ``x`` plus ``residual``, and its RMS norm times ``gamma``, rows along the last dimension."""
    width = x.shape[-1] * x.dtype.itemsize // VECTOR
    kernel: dict[str, object] = {"FUSED": True, "ROWS": x.size // x.shape[-1], "WIDTH": width, "EPS": f"{eps!r}f"}
    if gamma.dtype != x.dtype:
        kernel["GAMMA_F32"] = True
    out = (jax.ShapeDtypeStruct(x.shape, x.dtype),) * 2
    call = _call(setup, "jaxgpu_tune_add_rmsnorm", kernel, _threads(width), x.dtype, out)
    return call(x, residual, gamma, state)


def _threads(vectors: int) -> int:
    """Threads of a block that has so many vectors to do: whole warps."""
    return min(MOST_THREADS, max(2 * WARP, -(-vectors // WARP) * WARP))


def _call(setup: Setup, name: str, kernel: dict[str, object], threads: int, dtype: Any, out: Any) -> Any:
    defines = {
        f"ELEMENT_{ELEMENTS[np.dtype(dtype).name]}": True,
        "WORLD": setup.shape.world,
        "GRID": GRID,
        "THREADS": threads,
        "REGION": setup.shape.region,
        "TIMEOUT_NS": f"{setup.timeout_ns}ull",
        **({"GIVE_UP": True} if setup.gives_up else {}),
        **({"FENCE": True} if setup.fence else {}),
        **kernel,
    }
    grid, block = (GRID, 1, 1), (threads, 1, 1)
    attributes: dict[str, Any] = {
        "name": name,
        "kernel_type": "ptx",
        "kernel_data": _ptx(setup.architecture, tuple(sorted(defines.items()))),
        **{f"grid_{axis}": np.int32(size) for axis, size in zip("xyz", grid, strict=True)},
        **{f"block_{axis}": np.int32(size) for axis, size in zip("xyz", block, strict=True)},
        "shared_mem_bytes": np.int32(0),
    }
    call = jax.ffi.ffi_call(BACKENDS[setup.backend], out, vmap_method="sequential")
    return lambda *operands: call(*operands, **attributes)


@lru_cache
def _ptx(architecture: str, defines: tuple[tuple[str, object], ...]) -> str:
    target = str(min(int(architecture), NEWEST_TARGET))
    lines = nvrtc.compiled(target, dict(defines), form="ptx").decode().splitlines()
    return "\n".join(PTX_VERSION if line.startswith(".version") else line for line in lines)
