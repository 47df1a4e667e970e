"""A transformer whose layers are cut into stages, one a device; small batches pass through them one after another (GPipe)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import transformer
from .common import Built, Place, Tree, even, trained
from .transformer import Cuts

CUTS = Cuts(qkv=0, out=0, up=0, down=0)


class Size(NamedTuple):
    """``rows`` sequences, ``rows_at_once`` of which are in a stage at a time."""

    layers: int
    width: int
    rows: int
    length: int
    rows_at_once: int = 1


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; four small batches a stage."""
    return Size(even(4, devices), 128, 8, 16, 2) if name == "tiny" else Size(even(16, devices), 2048, 4 * devices, 1024)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Training in bfloat16 with weights and Adam in float32."""
    place = Place(devices)
    shapes = transformer.shapes_of(transformer.Size(*size[:4]), CUTS)
    loss = place.mapped(partial(loss_of, place=place, size=size), (place.specs(shapes), jax.P()), jax.P())
    tokens = place.put(transformer.tokens(transformer.Size(*size[:4])), None)
    return trained(loss, place.normal(shapes), tokens, 2e-4)


def loss_of(params: Tree, batch: jax.Array, *, place: Place, size: Size) -> jax.Array:
    """The loss of the last stage. At tick t stage s works on small batch t - s; the first and last ticks are partly idle."""
    small = batch.reshape(-1, size.rows_at_once, size.length + 1)
    stage, last = place.index(), place.count - 1
    embedding = params["embedding"].astype(jnp.bfloat16)
    weights = {name: weight for name, weight in params.items() if name != "embedding"}

    def tick(arrived: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        entering, leaving = small[now % len(small)], small[(now - last) % len(small)]
        x = jnp.where(stage == 0, embedding[entering[:, :-1]], arrived)
        x = stage_of(weights, x, size.layers)
        loss = transformer.cross_entropy(x, embedding, leaving[:, 1:])
        counts = (stage == last) & (now >= last)
        return place.passed(x), jnp.where(counts, loss, 0.0)

    nothing = jnp.zeros((size.rows_at_once, size.length, size.width), jnp.bfloat16)
    _, losses = jax.lax.scan(jax.checkpoint(tick, prevent_cse=False), nothing, jnp.arange(len(small) + last))
    return place.total(losses.sum()) / len(small)


def stage_of(weights: Tree, x: jax.Array, depth: int) -> jax.Array:
    """One stage's layers, in a loop."""
    body = partial(
        transformer.layer, whole=lambda _, weight: weight.astype(jnp.bfloat16), kept=lambda x: x, depth=depth
    )
    return jax.lax.scan(body, x, weights)[0]
