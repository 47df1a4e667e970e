"""A language model whose weights are cut over all GPUs and gathered layer by layer (FSDP), in equinox and optax.

``--cut first`` cuts each weight along its first dimension, along which NCCL gathers; ``last`` along its last, which costs a
transpose of each gathered weight.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .loop import Built, Check, Tree, main

CHOICES = {"cut": ("first", "last")}
VOCABULARY = 256


class Size(NamedTuple):
    """``rows``: sequences of all devices together; ``length``: tokens of one."""

    layers: int
    width: int
    heads: int
    rows: int
    length: int


class Layer(eqx.Module):
    """Attention, then the feed-forward part, each after normalisation."""

    first: eqx.nn.RMSNorm
    attention: eqx.nn.MultiheadAttention
    second: eqx.nn.RMSNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, size: Size, key: jax.Array) -> None:
        keys = jax.random.split(key, 3)
        self.first, self.second = eqx.nn.RMSNorm(size.width), eqx.nn.RMSNorm(size.width)
        self.attention = eqx.nn.MultiheadAttention(size.heads, size.width, key=keys[0])
        self.up = eqx.nn.Linear(size.width, 4 * size.width, key=keys[1])
        self.down = eqx.nn.Linear(4 * size.width, size.width, key=keys[2])

    def __call__(self, x: jax.Array) -> jax.Array:
        """(tokens, width): what a token is told comes from those before it."""
        normal = jax.vmap(self.first)(x)
        x = x + self.attention(normal, normal, normal, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return x + jax.vmap(lambda one: self.down(jax.nn.gelu(self.up(one))))(jax.vmap(self.second)(x))


class Model(eqx.Module):
    """``layers``: one whose arrays are stacked, to be looped over."""

    embedding: jax.Array
    layers: Layer

    def __init__(self, size: Size, key: jax.Array) -> None:
        for_embedding, for_layers = jax.random.split(key)
        self.embedding = jax.random.normal(for_embedding, (VOCABULARY, size.width)) * 0.02
        self.layers = eqx.filter_vmap(partial(Layer, size))(jax.random.split(for_layers, size.layers))


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; both grow with the devices."""
    return Size(2, 64, 2, 4 * devices, 16) if name == "tiny" else Size(16, 2048, 16, 2 * devices, 1024)


def build(devices: Sequence[jax.Device], size: Size, cut: str = "first") -> Built:
    """Training with Adam; weights and its moments cut over the devices, in float32, computing in bfloat16."""
    mesh = Mesh(np.array(devices), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    optimizer = optax.adamw(0.1 / size.width)  # larger steps make the wide ones leap

    @eqx.filter_jit
    def start(key: jax.Array) -> Tree:
        model = Model(size, key)
        return cut_over((model, optimizer.init(eqx.filter(model, eqx.is_array)), jnp.zeros(())), mesh, cut)

    step = eqx.filter_jit(partial(trained, mesh=mesh, cut=cut, optimizer=optimizer), donate="all-except-first")
    return Built(
        lambda state, batch: step(batch, state), start(jax.random.PRNGKey(0)), jax.device_put(tokens(size), rows)
    )


def cut_over(tree: Tree, mesh: Mesh, cut: str) -> Tree:
    """Every array of two dimensions or more cut along its first or last (that of the stack of layers left whole)."""

    def lie(x: jax.Array) -> jax.Array:
        axis = x.ndim - (2 if cut == "first" else 1)
        evenly = x.ndim >= 2 and x.shape[axis] % mesh.size == 0
        spec = PartitionSpec(*(None,) * axis, "data") if evenly else PartitionSpec()
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))

    return jax.tree.map(lambda x: lie(x) if eqx.is_array(x) else x, tree)


def trained(batch: jax.Array, state: Tree, mesh: Mesh, cut: str, optimizer: optax.GradientTransformation) -> Tree:
    """One step of Adam; the state after it and the loss before it."""
    model, moments, _ = state
    loss, grads = eqx.filter_value_and_grad(partial(loss_of, mesh=mesh, cut=cut))(model, batch)
    changes, moments = optimizer.update(grads, moments, eqx.filter(model, eqx.is_array))
    return cut_over((eqx.apply_updates(model, changes), moments, loss), mesh, cut), loss


def loss_of(model: Model, batch: jax.Array, mesh: Mesh, cut: str) -> jax.Array:
    """Mean cross-entropy of each next token."""
    rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

    def whole(part: Tree) -> Tree:
        small = jax.tree.map(lambda x: x.astype(jnp.bfloat16), eqx.filter(part, eqx.is_inexact_array))
        gathered = jax.lax.with_sharding_constraint(cut_over(small, mesh, cut), everywhere)
        return eqx.combine(gathered, part)

    stacked, rest = eqx.partition(model.layers, eqx.is_array)

    @partial(jax.checkpoint, prevent_cse=False)
    def layer(x: jax.Array, weights: Tree) -> tuple[jax.Array, None]:
        return jax.lax.with_sharding_constraint(jax.vmap(eqx.combine(whole(weights), rest))(x), rows), None

    embedding = whole(model.embedding)
    x, _ = jax.lax.scan(layer, jax.lax.with_sharding_constraint(embedding[batch[:, :-1]], rows), stacked)
    logits = (x @ embedding.T).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch[:, 1:]).mean()


def tokens(size: Size) -> np.ndarray:
    """Sequences in which each token follows from the one before by a rule."""
    made = np.random.default_rng(0).integers(VOCABULARY, size=(size.rows, size.length + 1), dtype=np.int32)
    for column in range(1, size.length + 1):
        made[:, column] = (5 * made[:, column - 1] + 17) % VOCABULARY
    return made


def check(state: Tree) -> Check:
    """Guessing costs ln 256 = 5.5."""
    return Check("loss", float(state[2]), most=4.0)


if __name__ == "__main__":
    main(sys.modules[__name__])
