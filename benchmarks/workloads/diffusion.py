"""A convolution net that takes noise out of images, halving and doubling their size (diffusion); images are cut over the devices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .common import Built, Place, Shapes, Tree, even, trained


class Size(NamedTuple):
    """``levels``: how often the images are halved; ``channels`` at the first level, doubled at each; ``rows``: images in all."""

    levels: int
    channels: int
    pixels: int
    rows: int


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the full one's images grow with the devices."""
    return Size(1, 8, 8, even(8, devices)) if name == "tiny" else Size(2, 128, 64, 32 * devices)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Training in bfloat16 with weights and Adam in float32: finds the noise that was added to smooth images."""
    place = Place(devices)
    random = np.random.default_rng(0)
    grid = np.linspace(0, 2 * np.pi, size.pixels, endpoint=False)
    phases = random.uniform(0, 2 * np.pi, (size.rows, 1, 1, 3))
    clean = np.sin(grid[:, None, None] + phases) * np.cos(grid[None, :, None] + phases)
    noise = random.standard_normal(clean.shape)
    batch = {"noisy": (clean + noise) / 2**0.5, "noise": noise}
    placed = {name: place.put(array.astype(np.float32), 0) for name, array in batch.items()}
    return trained(partial(loss_of, levels=size.levels), place.normal(shapes_of(size)), placed, 2e-4)


def shapes_of(size: Size) -> Shapes:
    """Kernels (height, width, in, out): two a level on the way down, at the bottom, and on the way up."""
    c = [size.channels * 2**level for level in range(size.levels + 1)]
    kernels = {"first": (3, c[0]), "last": (c[0], 3), "bottom.a": (c[-1], c[-1]), "bottom.b": (c[-1], c[-1])}
    for level in range(size.levels):
        here, below = c[level], c[level + 1]
        kernels |= {f"{level}.a": (here, here), f"{level}.b": (here, here), f"{level}.down": (here, below)}
        kernels |= {f"{level}.up": (below, here), f"{level}.join": (2 * here, here), f"{level}.c": (here, here)}
    return {name: ((3, 3, *kernel), None) for name, kernel in kernels.items()}


def loss_of(params: Tree, batch: Tree, *, levels: int) -> jax.Array:
    """Mean square of what is wrong in the noise found."""
    w = {name: kernel.astype(jnp.bfloat16) / 3 for name, kernel in params.items()}
    x = conv(batch["noisy"].astype(jnp.bfloat16), w["first"])
    kept = []
    for level in range(levels):
        x = block(x, w[f"{level}.a"], w[f"{level}.b"])
        kept.append(x)
        x = conv(x, w[f"{level}.down"], stride=2)
    x = block(x, w["bottom.a"], w["bottom.b"])
    for level in reversed(range(levels)):
        x = conv(x.repeat(2, axis=1).repeat(2, axis=2), w[f"{level}.up"])
        x = conv(jnp.concatenate([x, kept[level]], axis=-1), w[f"{level}.join"])
        x = block(x, w[f"{level}.c"], w[f"{level}.c"])
    found = conv(normalised(x), w["last"]).astype(jnp.float32)
    return jnp.mean((found - batch["noise"]) ** 2)


def block(x: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Two convolutions, added to what comes in."""
    inner = conv(jax.nn.silu(normalised(x)), first)
    return x + conv(jax.nn.silu(normalised(inner)), second)


def conv(x: jax.Array, kernel: jax.Array, stride: int = 1) -> jax.Array:
    """A convolution that keeps the size, or divides it by ``stride``."""
    return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def normalised(x: jax.Array) -> jax.Array:
    """Mean 0 and variance 1 over each image's pixels, in float32."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(axis=(1, 2), keepdims=True)
    return (centred * jax.lax.rsqrt((centred**2).mean(axis=(1, 2), keepdims=True) + 1e-5)).astype(x.dtype)
