"""A transformer with every layer's weights cut over the devices; activations are all-reduced (tensor parallelism)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from examples.sharded_transformer import HEAD_WIDTH

from . import transformer
from .common import Built, Place, even, trained
from .transformer import Cuts, Size

CUTS = Cuts(qkv=2, out=1, up=2, down=1)


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; as wide for any number of devices as they can share evenly."""
    layers, width, rows, length = (4, 128, 8, 16) if name == "tiny" else (8, 4096, 2, 2048)
    return Size(layers, even(width, devices, HEAD_WIDTH), rows, length)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Training in bfloat16 with weights and Adam in float32."""
    place = Place(devices)
    loss = partial(transformer.loss_of, whole=lambda _, weight: weight.astype(jnp.bfloat16), kept=place.kept)
    params = place.normal(transformer.shapes_of(size, CUTS))
    rate = min(2e-4, 0.1 / size.width)
    return trained(loss, params, place.put(transformer.tokens(size), None), rate)
