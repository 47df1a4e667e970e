"""Layers of experts, some on each device; tokens travel to their experts and back (mixture of experts, all-to-all).

A token's expert follows from its position, so that experts are equally busy and rounding cannot change the way a token
takes; how much of its answer counts is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import transformer
from .common import AXIS, Built, Place, Shapes, Tree, even, trained


class Size(NamedTuple):
    """``rows``: sequences of all devices together; ``length``: a multiple of ``experts``; ``inner``: an expert's width."""

    layers: int
    width: int
    inner: int
    experts: int
    rows: int
    length: int


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the full one's experts and rows grow with the devices."""
    layers, width, inner, length = (2, 64, 128, 16) if name == "tiny" else (8, 2048, 4096, 1024)
    experts, rows = (even(8, devices), even(8, devices)) if name == "tiny" else (4 * devices, 8 * devices)
    return Size(layers, width, inner, experts, rows, even(length, experts))


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Training in bfloat16 with weights and Adam in float32; experts cut over the devices, everything else copied."""
    place = Place(devices)
    shapes = shapes_of(size)
    loss = place.mapped(partial(loss_of, place=place, size=size), (place.specs(shapes), jax.P(AXIS)), jax.P())
    tokens = transformer.tokens(transformer.Size(size.layers, size.width, size.rows, size.length))
    return trained(loss, place.normal(shapes), place.put(tokens, 0), 2e-4)


def shapes_of(size: Size) -> Shapes:
    """Every weight, those of the layers stacked."""
    n, d = size.layers, size.width
    return {
        "embedding": ((transformer.VOCABULARY, d), None),
        "gate": ((n, d, 1), None),
        "up": ((n, size.experts, d, size.inner), 1),
        "down": ((n, size.experts, size.inner, d), 1),
    }


def loss_of(params: Tree, batch: jax.Array, *, place: Place, size: Size) -> jax.Array:
    """Mean cross-entropy of each next token."""
    embedding = params["embedding"].astype(jnp.bfloat16)
    layers = {name: weight for name, weight in params.items() if name != "embedding"}
    body = jax.checkpoint(partial(layer, place=place, size=size), prevent_cse=False)
    x, _ = jax.lax.scan(body, embedding[batch[:, :-1]], layers)
    return place.total(transformer.cross_entropy(x, embedding, batch[:, 1:])) / place.count


def layer(x: jax.Array, weights: Tree, *, place: Place, size: Size) -> tuple[jax.Array, None]:
    """Tokens to their experts, two matrix multiplications there, and back."""
    w = {name: weight.astype(jnp.bfloat16) for name, weight in weights.items()}
    normal = transformer.normalised(x)
    sent = normal.reshape(-1, size.experts, size.width).swapaxes(0, 1)
    there = place.exchanged(sent)
    own = there.reshape(place.count, -1, *sent.shape[1:]).swapaxes(0, 1).reshape(w["up"].shape[0], -1, size.width)
    answers = jax.nn.gelu(own @ w["up"]) @ w["down"]
    ordered = answers.reshape(-1, place.count, sent.shape[1], size.width).swapaxes(0, 1)
    back = place.exchanged(ordered.reshape(sent.shape)).swapaxes(0, 1).reshape(x.shape)
    return x + size.layers**-0.5 * jax.nn.sigmoid(normal @ w["gate"]) * back, None
