"""A small transformer, trained with its parameters sharded over all devices (FSDP, ZeRO-3), in plain JAX.

It knows nothing of jaxgpu_tune: the examples beside it show where that is called. Weights live in shards. The loop
over layers gathers one layer at a time in bfloat16, and gradients are scattered back to the shards.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HEAD_WIDTH = 64
WARM_UP = 2
Tree = Any


@dataclass(frozen=True)
class Size:
    """What is trained. ``batch``: sequences a device; ``sequence``: tokens a sequence."""

    layers: int
    width: int
    batch: int
    sequence: int
    steps: int
    vocabulary: int = 256


@dataclass(frozen=True)
class Result:
    """``losses``: one a step; ``step_seconds``: the median, without the first steps that compile and warm up."""

    losses: tuple[float, ...]
    step_seconds: float
    devices: str

    def __str__(self) -> str:
        first, last = self.losses[0], self.losses[-1]
        return f"step {1e3 * self.step_seconds:.2f} ms (median), loss {first:.4f} -> {last:.4f}, on {self.devices}"


def size_from(arguments: Sequence[str] | None = None) -> Size:
    """The size that the command line asks for; by default small on a CPU, larger on GPUs."""
    small = jax.default_backend() == "cpu"
    parser = argparse.ArgumentParser(description="Train a small transformer, sharded over all devices.")
    parser.add_argument("--layers", type=int, default=4 if small else 24)
    parser.add_argument("--width", type=int, default=128 if small else 1024, help=f"a multiple of {HEAD_WIDTH}")
    parser.add_argument("--batch", type=int, default=4 if small else 1, help="sequences a device")
    parser.add_argument("--sequence", type=int, default=64 if small else 1024, help="tokens a sequence")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args(arguments)
    if given.width % HEAD_WIDTH or given.steps <= WARM_UP:
        parser.error(f"--width must be a multiple of {HEAD_WIDTH}, --steps more than {WARM_UP}")
    return Size(**vars(given))


def train(size: Size) -> Result:
    """Train for ``size.steps`` steps on all devices; the same numbers each time."""
    mesh = Mesh(np.array(jax.devices()), ("data",))
    state = init(size, mesh)
    step = make_step(size, mesh, jax.tree_util.tree_map(lambda x: x.sharding, state))
    losses, seconds = [], []
    for number in range(size.steps):
        tokens = batch_of(size, mesh, number)
        start = time.perf_counter()
        state, loss = step(state, tokens)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - start)
    devices = f"{mesh.size} x {jax.devices()[0].device_kind}"
    return Result(tuple(losses), statistics.median(seconds[WARM_UP:]), devices)


def sharding_of(shape: Sequence[int], mesh: Mesh) -> NamedSharding:
    """A matrix's first dimension split over all devices, else its last; the others whole.

    NCCL gathers along the first one; shards along another would have to be transposed after each gather.
    """
    for axis in range(max(0, len(shape) - 2), len(shape)):
        if shape[axis] % mesh.size == 0:
            return NamedSharding(mesh, PartitionSpec(*(None,) * axis, "data"))
    return NamedSharding(mesh, PartitionSpec())


def init(size: Size, mesh: Mesh) -> Tree:
    """Parameters and Adam's two moments in float32, each made in shards, and the count of steps."""
    d, n = size.width, size.layers
    shapes = {
        "embedding": (size.vocabulary, d),
        "layers": {"qkv": (n, d, 3 * d), "out": (n, d, d), "up": (n, d, 4 * d), "down": (n, 4 * d, d)},
    }

    def make(key: Tree) -> Tree:
        leaves, form = jax.tree_util.tree_flatten(shapes, is_leaf=lambda x: isinstance(x, tuple))
        keys = jax.random.split(key, len(leaves))
        arrays = [jax.random.normal(k, s) / s[-2] ** 0.5 for k, s in zip(keys, leaves, strict=True)]
        params = jax.tree_util.tree_unflatten(form, arrays)
        zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
        return {"params": params, "mean": zeros, "square": zeros, "count": jnp.zeros((), jnp.int32)}

    key = jax.random.PRNGKey(0)
    shardings = jax.tree_util.tree_map(lambda x: sharding_of(x.shape, mesh), jax.eval_shape(make, key))
    return jax.jit(make, out_shardings=shardings)(key)


def batch_of(size: Size, mesh: Mesh, number: int) -> jax.Array:
    """Sequences in which each token follows from the one before by a fixed rule, so that there is something to learn."""
    rows, columns = size.batch * mesh.size, size.sequence + 1
    tokens = np.empty((rows, columns), np.int32)
    tokens[:, 0] = np.random.default_rng(number).integers(size.vocabulary, size=rows)
    for column in range(1, columns):
        tokens[:, column] = (5 * tokens[:, column - 1] + 17) % size.vocabulary
    return jax.device_put(tokens, NamedSharding(mesh, PartitionSpec("data")))


def make_step(size: Size, mesh: Mesh, shardings: Tree) -> Any:
    """The compiled training step: (state, tokens) -> (state, loss); the state's memory is reused."""
    rate = 1e-3 * (128 / size.width) ** 0.5

    @partial(jax.jit, donate_argnums=0, out_shardings=(shardings, NamedSharding(mesh, PartitionSpec())))
    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        loss, grads = jax.value_and_grad(partial(loss_of, mesh=mesh))(state["params"], tokens)
        return adam(state, grads, rate), loss

    return step


def loss_of(params: Tree, tokens: jax.Array, mesh: Mesh) -> jax.Array:
    """Mean cross-entropy of each next token."""
    embedding = gathered(params["embedding"], mesh)
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    body = jax.checkpoint(partial(layer, mesh=mesh), policy=policy, prevent_cse=False)
    x, _ = jax.lax.scan(body, embedding[tokens[:, :-1]], params["layers"])
    logits = (normalised(x) @ embedding.T).astype(jnp.float32)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
    return -chosen.mean()


def gathered(weight: jax.Array, mesh: Mesh) -> jax.Array:
    """The whole weight in bfloat16; its gradient goes back to the shards. This is all that FSDP is."""
    shard = jax.lax.with_sharding_constraint(weight.astype(jnp.bfloat16), sharding_of(weight.shape, mesh))
    return jax.lax.with_sharding_constraint(shard, NamedSharding(mesh, PartitionSpec()))


def layer(x: jax.Array, weights: Tree, mesh: Mesh) -> tuple[jax.Array, None]:
    """One block: attention, then the feed-forward part."""
    w = {name: gathered(weight, mesh) for name, weight in weights.items()}
    x = x + attention(normalised(x) @ w["qkv"]) @ w["out"]
    x = x + jax.nn.gelu(normalised(x) @ w["up"]) @ w["down"]
    return x, None


def normalised(x: jax.Array) -> jax.Array:
    """RMS norm without a scale, computed in float32."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)).astype(x.dtype)


def attention(qkv: jax.Array) -> jax.Array:
    """Causal attention of many heads, softmax in float32."""
    batch, length, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = jnp.split(qkv.reshape(batch, length, -1, 3 * HEAD_WIDTH), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / HEAD_WIDTH**0.5
    visible = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(visible, scores, -1e9)).astype(qkv.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)


def adam(state: Tree, grads: Tree, rate: float, b1: float = 0.9, b2: float = 0.95, eps: float = 1e-8) -> Tree:
    """One step of Adam in float32, each device on its own shards."""
    each = jax.tree_util.tree_map
    count = state["count"] + 1
    mean = each(lambda m, g: b1 * m + (1 - b1) * g, state["mean"], grads)
    square = each(lambda s, g: b2 * s + (1 - b2) * g * g, state["square"], grads)
    scale = rate * jnp.sqrt(1 - b2**count) / (1 - b1**count)
    params = each(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + eps), state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square, "count": count}
