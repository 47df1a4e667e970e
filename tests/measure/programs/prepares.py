"""Calls a small function many times, then takes long to trace its step, then trains: as programs do that make their data first."""

import sys
import time

import jax
import jax.numpy as jnp

data = jnp.zeros(4)
for _ in range(60):
    data = data + 1.0
    time.sleep(0.02)


@jax.jit
def train_step(weights: jax.Array) -> jax.Array:
    time.sleep(2.5)  # while it is traced
    return weights * 0.999


for step in range(int(sys.argv[1])):
    data = train_step(data)
    time.sleep(0.01)
    if step % 100 == 0:
        print("loss", float(data[0]), flush=True)
