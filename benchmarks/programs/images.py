"""Images to classify, made here: waves in ten directions, under noise."""

from __future__ import annotations

import jax
import jax.numpy as jnp

CLASSES = 10


def images_of(key: jax.Array, count: int, pixels: int) -> tuple[jax.Array, jax.Array]:
    """(count, pixels, pixels, 3) of mean 0, and the number of each one's direction."""
    for_label, for_phase, for_noise = jax.random.split(key, 3)
    labels = jax.random.randint(for_label, (count,), 0, CLASSES)
    angle = labels[:, None, None, None] * jnp.pi / CLASSES
    phase = jax.random.uniform(for_phase, (count, 1, 1, 3), maxval=2 * jnp.pi)
    across = jnp.arange(pixels)
    way = across[:, None, None] * jnp.sin(angle) + across[None, :, None] * jnp.cos(angle)
    noise = jax.random.normal(for_noise, (count, pixels, pixels, 3)) / 2
    return jnp.sin(1.2 * way + phase) + noise, labels
