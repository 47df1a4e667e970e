"""One token after another out of a transformer with every layer cut over the devices: two small all-reduces a layer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .common import Built, Place, Shapes, Tree
from .transformer import normalised


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
    """``tiny`` or ``full``; the same for any number of devices."""
    del devices
    return Size(2, 64, 8, 4, 128, 2, 16) if name == "tiny" else Size(16, 4096, 32, 8, 14336, 8, 1024)


def build(devices: Sequence[jax.Device], size: Size, *, alone: bool = False) -> Built:
    """A step puts one token's keys and values into the cache and gives the mean square of what comes out."""
    place = Place(devices, alone=alone)
    shapes = shapes_of(size)
    specs = {**place.specs(shapes), "count": jax.P()}
    token = place.mapped(partial(token_of, place=place, size=size), (specs, jax.P()), (specs, jax.P()))
    inputs = np.random.default_rng(0).standard_normal((64, size.rows, size.width)).astype(np.float32)
    state = {**place.normal(shapes, jnp.bfloat16), "count": place.put(np.zeros((), np.int32), None)}
    return Built(jax.jit(token, donate_argnums=0), state, place.put(inputs, None))


def shapes_of(size: Size) -> Shapes:
    """Weights and cache of each layer; heads are cut over the devices."""
    d, part = size.width, size.width // size.heads
    cached = (size.groups, size.rows, size.past, part)
    layer: Shapes = {
        "queries": ((d, d), 1),
        "new_keys": ((d, size.groups * part), 1),
        "new_values": ((d, size.groups * part), 1),
        "out": ((d, d), 0),
        "up": ((d, size.inner), 1),
        "gate": ((d, size.inner), 1),
        "down": ((size.inner, d), 0),
        "keys": (cached, 0),
        "values": (cached, 0),
    }
    return {f"{number}.{name}": spec for number in range(size.layers) for name, spec in layer.items()}


def token_of(state: Tree, batch: jax.Array, *, place: Place, size: Size) -> tuple[Tree, jax.Array]:
    """The cache with the new token in it, and the mean square of what comes out of the last layer."""
    x = batch[state["count"] % len(batch)].astype(jnp.bfloat16)
    position = state["count"] % size.past
    after = {**state, "count": state["count"] + 1}
    for number in range(size.layers):
        w = {
            name: state[f"{number}.{name}"]
            for name in ("queries", "new_keys", "new_values", "out", "up", "gate", "down")
        }
        h = normalised(x)
        keys, values = (
            written(state[f"{number}.{name}"], h @ w[f"new_{name}"], position) for name in ("keys", "values")
        )
        x = x + place.total(attended(h @ w["queries"], keys, values) @ w["out"])
        h = normalised(x)
        x = x + place.total((jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"])
        after |= {f"{number}.keys": keys, f"{number}.values": values}
    return after, jnp.mean(x.astype(jnp.float32) ** 2)


def written(cache: jax.Array, new: jax.Array, position: jax.Array) -> jax.Array:
    """The cache (groups, rows, past, width) with one position replaced."""
    groups, rows, _, width = cache.shape
    placed = new.reshape(rows, groups, 1, width).swapaxes(0, 1)
    return jax.lax.dynamic_update_slice(cache, placed, (0, 0, position, 0))


def attended(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Attention of each row's one token to all that is in the cache, softmax in float32."""
    groups, rows, _, width = keys.shape
    q = queries.reshape(rows, groups, -1, width)
    scores = jnp.einsum("rghw,grpw->rghp", q, keys).astype(jnp.float32) / width**0.5
    return jnp.einsum("rghp,grpw->rghw", jax.nn.softmax(scores).astype(q.dtype), values).reshape(rows, -1)
