"""One token after another out of a transformer with every layer cut over the devices: two small all-reduces a layer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .common import Built, Place, Shapes, Tree, even
from .transformer import normalised

BLOCK = 16


class Size(NamedTuple):
    """``rows``: sequences decoded together; ``past``: tokens in the cache; ``groups``: heads that have keys of their own."""

    layers: int
    width: int
    heads: int
    groups: int
    inner: int
    rows: int
    past: int


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; as many heads for any number of devices as they can share evenly."""
    groups = even(8, devices)
    if name == "tiny":
        return Size(2, 8 * groups, groups, groups, even(128, devices * BLOCK), 2, 16)
    return Size(32, 512 * groups, 4 * groups, groups, even(14336, devices * BLOCK), 8, 1024)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """A step puts one token's keys and values into the cache and gives the mean square of what comes out."""
    place = Place(devices)
    weights, cached = weights_of(size), cache_of(size)
    specs = {**place.specs(cached), "count": jax.P()}
    given = {**place.specs(weights), "inputs": jax.P()}
    token = place.mapped(partial(token_of, place=place, size=size), (specs, given), (specs, jax.P()))
    inputs = np.random.default_rng(0).standard_normal((64, size.rows, size.width)).astype(np.float32)
    state = {**place.normal(cached, jnp.bfloat16), "count": place.put(np.zeros((), np.int32), None)}
    batch = {**place.normal(weights, jnp.bfloat16), "inputs": place.put(inputs, None)}
    return Built(jax.jit(token, donate_argnums=0), state, batch)


def weights_of(size: Size) -> Shapes:
    """Of each layer: queries, keys and values group by group; gate and up alternating, ``BLOCK`` columns at a time."""
    d, part = size.width, size.width // size.heads
    layer: Shapes = {
        "qkv": ((d, (size.heads + 2 * size.groups) * part), 1),
        "out": ((d, d), 0),
        "gate_up": ((d, 2 * size.inner), 1),
        "down": ((size.inner, d), 0),
    }
    return {f"{number}.{name}": spec for number in range(size.layers) for name, spec in layer.items()}


def cache_of(size: Size) -> Shapes:
    """Keys and values of each layer; groups of heads are cut over the devices. Rows first: else each step transposes all of it."""
    shape = (size.rows, size.groups, size.past, size.width // size.heads)
    return {f"{number}.{name}": (shape, 1) for number in range(size.layers) for name in ("keys", "values")}


def token_of(state: Tree, batch: Tree, *, place: Place, size: Size) -> tuple[Tree, jax.Array]:
    """The cache with the new token in it, and the mean square of what comes out of the last layer."""
    x = batch["inputs"][state["count"] % len(batch["inputs"])].astype(jnp.bfloat16)
    position, part = state["count"] % size.past, size.width // size.heads
    after = {"count": state["count"] + 1}
    for number in range(size.layers):
        w = {name: batch[f"{number}.{name}"] for name in ("qkv", "out", "gate_up", "down")}
        qkv = (normalised(x) @ w["qkv"]).reshape(size.rows, -1, size.heads // size.groups + 2, part)
        keys = written(state[f"{number}.keys"], qkv[:, :, -2], position)
        values = written(state[f"{number}.values"], qkv[:, :, -1], position)
        x = x + place.total(attended(qkv[:, :, :-2], keys, values) @ w["out"])
        gate_up = (normalised(x) @ w["gate_up"]).reshape(size.rows, -1, 2, BLOCK)
        inner = jax.nn.silu(gate_up[:, :, 0]) * gate_up[:, :, 1]
        x = x + place.total(inner.reshape(size.rows, -1) @ w["down"])
        after |= {f"{number}.keys": keys, f"{number}.values": values}
    return after, jnp.mean(x.astype(jnp.float32) ** 2)


def written(cache: jax.Array, new: jax.Array, position: jax.Array) -> jax.Array:
    """The cache (rows, groups, past, width) with one position replaced by (rows, groups, width)."""
    return jax.lax.dynamic_update_slice(cache, new[:, :, None], (0, 0, position, 0))


def attended(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Attention of each row's one token (rows, groups, heads, width) to all that is in the cache, softmax in float32."""
    scores = jnp.einsum("rghw,rgpw->rghp", queries, keys).astype(jnp.float32) / queries.shape[-1] ** 0.5
    answers = jnp.einsum("rghp,rgpw->rghw", jax.nn.softmax(scores).astype(queries.dtype), values)
    return answers.reshape(len(queries), -1)
