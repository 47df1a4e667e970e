"""One program with the kernels, compared with ``lax.psum`` before anything relies on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import launch

if TYPE_CHECKING:
    from .all_reduce import AllReduce

__all__ = ["probed"]

ROUNDS = 5
"""More than there are slots."""
WIDTH = 1024


def probed(comm: AllReduce, mesh: Mesh, axis: str) -> str:
    """What went wrong with a small program of ``ROUNDS`` sums; empty if its results are those of ``lax.psum``."""
    spec = PartitionSpec(*mesh.axis_names)
    shape = (*mesh.devices.shape, WIDTH)
    values = np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32)
    x = jax.make_array_from_callback(shape, NamedSharding(mesh, spec), lambda index: values[index]).astype(jnp.bfloat16)

    def sums(comm: AllReduce, x: jax.Array) -> jax.Array:
        def differs(number: jax.Array, worst: jax.Array) -> jax.Array:
            sent = x * (number % 3 - 1).astype(x.dtype)
            return jnp.maximum(worst, jnp.abs(launch.psum(comm._setup, sent, comm.state) - lax.psum(sent, axis)).max())

        return lax.fori_loop(0, ROUNDS, differs, jnp.zeros((), x.dtype)).reshape((1,) * mesh.devices.ndim)

    program = jax.shard_map(sums, mesh=mesh, in_specs=(comm.spec, spec), out_specs=spec, check_vma=False)
    try:
        found = jax.jit(program)(comm, x)
        worst = max(float(shard.data.max()) for shard in found.addressable_shards)
    except Exception as error:  # noqa: BLE001 - whatever fails here, lax.psum works
        return f"the probe failed: {error}"
    return "" if worst == 0 else f"the probe's sums differ from lax.psum's by up to {worst}"
