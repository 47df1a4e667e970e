"""Image classification: a vision transformer in bfloat16, in flax and optax."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from .convnet import check, trained
from .images import CLASSES
from .loop import Built, main

__all__ = ["Size", "build", "check", "size_of"]


class Size(NamedTuple):
    """``patch``: pixels of the squares that images are cut into; ``width`` of a layer, ``heads`` of its attention."""

    images: int
    pixels: int
    patch: int
    layers: int
    width: int
    heads: int


class Layer(nn.Module):
    """Attention, then the feed-forward part, each after normalisation."""

    heads: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(images, patches, width)."""
        width = x.shape[-1]
        normal = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, dtype=jnp.bfloat16)(normal, normal)
        inner = nn.gelu(nn.Dense(4 * width, dtype=jnp.bfloat16)(nn.LayerNorm(dtype=jnp.bfloat16)(x)))
        return x + nn.Dense(width, dtype=jnp.bfloat16)(inner)


class Net(nn.Module):
    """Patches, their places, layers, and the mean of all patches."""

    size: Size

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(images, height, width, 3) -> (images, classes)."""
        patch = (self.size.patch, self.size.patch)
        x = nn.Conv(self.size.width, patch, patch, dtype=jnp.bfloat16)(x)
        x = x.reshape(len(x), -1, self.size.width)
        x = x + self.param("places", nn.initializers.normal(0.02), x.shape[1:]).astype(x.dtype)
        for _ in range(self.size.layers):
            x = Layer(self.size.heads)(x)
        return nn.Dense(CLASSES)(nn.LayerNorm()(x).mean(axis=1))


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(32, 16, 4, 2, 32, 2) if name == "tiny" else Size(128, 224, 16, 12, 384, 6)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device."""
    optimizer = optax.adamw(1e-3 * (32 / size.width) ** 0.5)
    return trained(Net(size), optimizer, devices[0], size.images, size.pixels)


if __name__ == "__main__":
    main(sys.modules[__name__])
