"""One program with the kernels, compared with ``lax.psum`` before anything relies on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding

from . import launch
from .launch import Setup
from .staging import spec_of

__all__ = ["try_kernels"]

ROUNDS = 5
"""More than there are slots."""
WIDTH = 1024
WAIT_NS = 10_000_000_000
"""For a peer, unless the user's own limit is shorter."""


def try_kernels(setup: Setup, state: jax.Array, mesh: Mesh) -> None:
    """Run a small program of ``ROUNDS`` sums. Raises whatever JAX does, and RuntimeError if the results are not those of ``lax.psum``."""
    spec = spec_of(mesh)
    shape = (*mesh.devices.shape, WIDTH)
    values = np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32)
    x = jax.make_array_from_callback(shape, NamedSharding(mesh, spec), lambda index: values[index]).astype(jnp.bfloat16)
    patient = setup._replace(gives_up=True, timeout_ns=min(WAIT_NS, setup.timeout_ns))

    def sums(state: jax.Array, x: jax.Array) -> jax.Array:
        def differs(number: jax.Array, worst: jax.Array) -> jax.Array:
            sent = x * (number % 3 - 1).astype(x.dtype)
            return jnp.maximum(worst, jnp.abs(launch.psum(patient, sent, state) - lax.psum(sent, setup.axis)).max())

        return lax.fori_loop(0, ROUNDS, differs, jnp.zeros((), x.dtype)).reshape((1,) * mesh.devices.ndim)

    program = jax.shard_map(sums, mesh=mesh, in_specs=(spec, spec), out_specs=spec, check_vma=False)
    found = jax.jit(program)(state, x)
    worst = max(float(shard.data.max()) for shard in found.addressable_shards)
    if worst != 0:  # not a number, too
        raise RuntimeError(f"the sums differ from lax.psum's by up to {worst}")
