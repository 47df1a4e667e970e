"""A loop in flax and optax."""

from __future__ import annotations

import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(64, 64, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def update(model, optimizer, x):
    loss, gradient = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
    optimizer.update(model, gradient)
    return loss


for _ in range(100_000):
    print(f"loss: {float(update(model, optimizer, jnp.ones((128, 64)))):.4f}")
