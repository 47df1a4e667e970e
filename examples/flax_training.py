"""Flax and Optax: a small network, its batch split over all devices. Needs ``pip install flax optax``."""

from __future__ import annotations

import jaxgpu_tune

report = jaxgpu_tune.configure("data_parallel")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS, BATCH, FEATURES = 40, 64, 8


class Network(nnx.Module):
    """Two dense layers."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.inner = nnx.Linear(FEATURES, 64, rngs=rngs)
        self.outer = nnx.Linear(64, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """(batch, FEATURES) -> (batch,)."""
        return self.outer(nnx.relu(self.inner(x)))[:, 0]


@nnx.jit
def step(model: Network, optimizer: nnx.Optimizer, x: jax.Array, y: jax.Array) -> jax.Array:
    """Update the model in place; the loss before the update."""
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


def main() -> None:
    """Train, and print the first and the last loss."""
    rows = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
    model = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = np.random.default_rng(0).normal(size=(BATCH * jax.device_count(), FEATURES)).astype(np.float32)
    data = jax.device_put((x, np.sin(x.sum(axis=1))), rows)
    losses = [float(step(model, optimizer, *data)) for _ in range(STEPS)]
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, on {jax.device_count()} x {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    print(report, end="\n\n")
    main()
