"""Many small kernels: a recurrent cell of five layers, scanned over time, forward and backward.

It stands for reinforcement learning and simulation on one GPU; on several, the rows are cut over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .common import Built, Place, Tree, even

LAYERS = 5


class Size(NamedTuple):
    """``width`` of each layer, ``length`` of the scan, ``rows`` of all devices together."""

    width: int
    length: int
    rows: int


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the full one's rows grow with the devices."""
    return Size(64, 8, even(8, devices)) if name == "tiny" else Size(1024, 64, 16 * devices)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Gradient descent in float32."""
    place = Place(devices)
    state = place.normal({"weights": ((LAYERS, 2 * size.width, 2 * size.width), None)})
    inputs = np.random.default_rng(1).standard_normal((size.length, size.rows, size.width)).astype(np.float32)

    @partial(jax.jit, donate_argnums=0, out_shardings=place.sharding())
    def step(state: Tree, batch: jax.Array) -> tuple[Tree, jax.Array]:
        loss, grads = jax.value_and_grad(loss_of)(state, batch)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, state, grads), loss

    return Built(step, state, place.put(inputs, 1))


def loss_of(params: Tree, inputs: jax.Array) -> jax.Array:
    """How far the states are from the first input."""
    states = jnp.zeros((LAYERS, *inputs.shape[1:]), inputs.dtype)
    _, outputs = jax.lax.scan(partial(cell, params["weights"]), states, inputs)
    return jnp.mean((outputs - inputs[0]) ** 2)


def cell(weights: jax.Array, states: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Five gated layers, one above the other."""
    new = []
    for number in range(LAYERS):
        gates = jnp.concatenate([x, states[number]], axis=-1) @ weights[number]
        update, candidate = jnp.split(gates, 2, axis=-1)
        z = jax.nn.sigmoid(update)
        x = (1 - z) * states[number] + z * jnp.tanh(candidate)
        new.append(x)
    return jnp.stack(new), x
