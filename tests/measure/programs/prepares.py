"""Takes long to trace its step, in which small jitted functions are called again and again, as solvers do; then trains."""

import sys
import time

import jax
import jax.numpy as jnp


@jax.jit
def train_step(weights: jax.Array) -> jax.Array:
    for _ in range(100):  # while it is traced
        weights = jnp.add(weights, 1.0)
        time.sleep(0.02)
    return weights * 0.999


data = jnp.add(jnp.zeros(4), 1.0)
for step in range(int(sys.argv[1])):
    data = train_step(data)
    time.sleep(0.01)
    if step % 100 == 0:
        print("loss", float(data[0]), flush=True)
