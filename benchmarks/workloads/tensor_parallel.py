"""A transformer with every layer's weights cut over the devices; activations are all-reduced (tensor parallelism)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from . import transformer
from .common import Built, Place, trained
from .transformer import Cuts, Size

CUTS = Cuts(qkv=2, out=1, up=2, down=1)


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the same for any number of devices."""
    del devices
    return Size(4, 128, 8, 16) if name == "tiny" else Size(8, 4096, 2, 2048)


def build(devices: Sequence[jax.Device], size: Size, *, alone: bool = False) -> Built:
    """Training in bfloat16 with weights and Adam in float32."""
    place = Place(devices, alone=alone)
    loss = partial(transformer.loss_of, whole=lambda _, weight: weight.astype(jnp.bfloat16), kept=place.kept)
    params = place.normal(transformer.shapes_of(size, CUTS))
    rate = min(2e-4, 0.1 / size.width)
    return trained(loss, params, place.put(transformer.tokens(size), None), rate)
