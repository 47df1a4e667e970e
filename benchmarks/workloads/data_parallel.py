"""A transformer with a whole copy of the weights on every device; gradients are all-reduced (data parallelism)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from . import transformer
from .common import AXIS, Built, Place, even, trained
from .transformer import Cuts, Size


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the full one's rows grow with the devices."""
    return Size(4, 128, even(8, devices), 16) if name == "tiny" else Size(12, 1024, 8 * devices, 1024)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Training in bfloat16 with weights and Adam in float32."""
    place = Place(devices)
    loss = partial(
        transformer.loss_of,
        whole=lambda _, weight: weight.astype(jnp.bfloat16),
        kept=lambda x: place.kept(x, AXIS),
    )
    params = place.normal(transformer.shapes_of(size, Cuts()))
    return trained(loss, params, place.put(transformer.tokens(size), 0), 2e-4)
