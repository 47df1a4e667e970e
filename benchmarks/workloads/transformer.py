"""A small transformer: what the workloads that differ only in how it is cut have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from examples.sharded_transformer import attention, normalised

from .common import Shapes, Tree

VOCABULARY = 256


class Size(NamedTuple):
    """``rows``: sequences of all devices together; ``length``: tokens a sequence."""

    layers: int
    width: int
    rows: int
    length: int


class Cuts(NamedTuple):
    """Which dimension of each stacked weight, and of the embedding, is cut over the devices."""

    embedding: int | None = None
    qkv: int | None = None
    out: int | None = None
    up: int | None = None
    down: int | None = None


def shapes_of(size: Size, cuts: Cuts) -> Shapes:
    """Every weight, those of the layers stacked."""
    n, d = size.layers, size.width
    whole = {
        "embedding": (VOCABULARY, d),
        "qkv": (n, d, 3 * d),
        "out": (n, d, d),
        "up": (n, d, 4 * d),
        "down": (n, 4 * d, d),
    }
    return {name: (shape, getattr(cuts, name)) for name, shape in whole.items()}


def tokens(size: Size) -> np.ndarray[Any, Any]:
    """Sequences in which each token follows from the one before by a fixed rule, so that there is something to learn."""
    made = np.empty((size.rows, size.length + 1), np.int32)
    made[:, 0] = np.random.default_rng(0).integers(VOCABULARY, size=size.rows)
    for column in range(1, size.length + 1):
        made[:, column] = (5 * made[:, column - 1] + 17) % VOCABULARY
    return made


def loss_of(
    params: Tree,
    batch: jax.Array,
    whole: Callable[[str, jax.Array], jax.Array],
    kept: Callable[[jax.Array], jax.Array],
    unroll: int | bool = 1,
) -> jax.Array:
    """Mean cross-entropy of each next token. ``whole``: a layer's weight as it is used; ``kept``: activations put in place."""
    embedding = whole("embedding", params["embedding"])
    layers = {name: weight for name, weight in params.items() if name != "embedding"}
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    body = jax.checkpoint(
        partial(layer, whole=whole, kept=kept, depth=layers["out"].shape[0]), policy=policy, prevent_cse=unroll is True
    )
    x, _ = jax.lax.scan(body, kept(embedding[batch[:, :-1]]), layers, unroll=unroll)
    return cross_entropy(x, embedding, batch[:, 1:])


def cross_entropy(x: jax.Array, embedding: jax.Array, following: jax.Array) -> jax.Array:
    """Mean over all tokens; the embedding serves as the last layer too."""
    logits = (normalised(x) @ embedding.T).astype(jnp.float32) / 4
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), following[..., None], axis=-1)
    return -chosen.mean()


def layer(x: jax.Array, weights: Tree, *, whole: Any, kept: Any, depth: int) -> tuple[jax.Array, None]:
    """One block: attention, then the feed-forward part, each made smaller the more of them are added up."""
    w = {name: whole(name, weight) for name, weight in weights.items()}
    part = depth**-0.5
    x = kept(x + part * attention(normalised(x) @ w["qkv"]) @ w["out"])
    x = kept(x + part * jax.nn.gelu(normalised(x) @ w["up"]) @ w["down"])
    return x, None
