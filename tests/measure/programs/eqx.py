"""A loop in equinox."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

model = eqx.nn.MLP(16, 16, 64, 2, key=jax.random.key(0))


@eqx.filter_jit
def make_step(model, x):
    gradient = eqx.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).mean())(model)
    return jax.tree.map(lambda p, g: p - 0.01 * g if eqx.is_array(p) else p, model, gradient)


for _ in range(100_000):
    model = make_step(model, jnp.ones((32, 16)))
    jax.block_until_ready(jax.tree.leaves(eqx.filter(model, eqx.is_array)))
