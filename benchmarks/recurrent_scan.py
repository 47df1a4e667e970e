"""Many small kernels on one GPU: a recurrent cell of five layers, scanned over time, forward and backward.

It stands for reinforcement learning and simulation; the interface is that of examples/sharded_transformer.py.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

WARM_UP = 5
LAYERS = 5
Tree = Any


class Size(NamedTuple):
    """``width`` of each layer, ``length`` of the scan, ``batch`` rows, and how many training steps."""

    width: int
    length: int
    batch: int
    steps: int


class Result(NamedTuple):
    """``losses``: one a step; ``step_seconds``: the median without the first steps."""

    losses: tuple[float, ...]
    step_seconds: float
    devices: str


def size_from(arguments: Sequence[str] | None = None) -> Size:
    """The size that the command line asks for; by default small on a CPU."""
    small = jax.default_backend() == "cpu"
    parser = argparse.ArgumentParser(description="Train a recurrent cell, scanned over time.")
    parser.add_argument("--width", type=int, default=64 if small else 1024)
    parser.add_argument("--length", type=int, default=8 if small else 64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=10 if small else 60)
    return Size(**vars(parser.parse_args(arguments)))


def train(size: Size) -> Result:
    """Train on one device; the same numbers each time."""
    key = jax.random.PRNGKey(0)
    params = jax.random.normal(key, (LAYERS, 2 * size.width, 2 * size.width)) / size.width**0.5
    inputs = jax.random.normal(jax.random.PRNGKey(1), (size.length, size.batch, size.width))
    losses, seconds = [], []
    for _ in range(size.steps):
        start = time.perf_counter()
        params, loss = step(params, inputs)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - start)
    return Result(tuple(losses), statistics.median(seconds[WARM_UP:]), f"1 x {jax.devices()[0].device_kind}")


@jax.jit
def step(params: Tree, inputs: jax.Array) -> tuple[Tree, jax.Array]:
    """One step of gradient descent."""
    loss, grads = jax.value_and_grad(loss_of)(params, inputs)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def loss_of(params: Tree, inputs: jax.Array) -> jax.Array:
    """How far the last state is from the first input."""
    states = jnp.zeros((LAYERS, *inputs.shape[1:]), inputs.dtype)
    _, outputs = jax.lax.scan(lambda states, x: cell(params, states, x), states, inputs)
    return jnp.mean((outputs - inputs[0]) ** 2)


def cell(params: Tree, states: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Five gated layers, one above the other."""
    new = []
    for weights, state in zip(params, states, strict=True):
        gates = jnp.concatenate([x, state], axis=-1) @ weights
        update, candidate = jnp.split(gates, 2, axis=-1)
        z = jax.nn.sigmoid(update)
        x = (1 - z) * state + z * jnp.tanh(candidate)
        new.append(x)
    return jnp.stack(new), x
