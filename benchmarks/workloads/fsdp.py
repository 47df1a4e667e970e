"""A transformer whose weights are cut over the devices and gathered layer by layer (FSDP, ZeRO-3).

``comm``: few tokens a device, so that gathering weights costs about what computing with them does; ``compute``: many;
``unrolled``: as ``comm``, without the loop over layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from examples.sharded_transformer import HEAD_WIDTH

from . import transformer
from .common import AXIS, Built, Place, even, trained
from .transformer import Cuts, Size

CUTS = {
    "last": Cuts(embedding=1, qkv=2, out=2, up=2, down=2),
    "first": Cuts(embedding=1, qkv=1, out=1, up=1, down=1),
}
"""The dimension of each weight that is cut; NCCL gathers along the first, so that the last costs transposes.

The embedding has one row a token, which not every number of devices shares evenly.
"""
RATES = {"comm": 2e-4, "compute": 2e-4, "unrolled": 5e-5}
"""Lower for the shallow model: a loss that a step halves would multiply what kernels round differently."""


def size_of(name: str, devices: int, kind: str = "comm", cut: str = "last") -> Size:  # noqa: ARG001 - of the same size
    """``tiny`` or ``full``; the full one's rows grow with the devices."""
    if name == "tiny":
        return Size(
            layers=2 if kind == "unrolled" else 4,
            width=even(128, devices, HEAD_WIDTH),
            rows=even(8, devices),
            length=16,
        )
    width = even(2048, devices, HEAD_WIDTH)
    return {
        "comm": Size(layers=24, width=width, rows=devices, length=1024),
        "compute": Size(layers=12, width=width, rows=4 * devices, length=2048),
        "unrolled": Size(layers=8, width=width, rows=devices, length=1024),
    }[kind]


def build(devices: Sequence[jax.Device], size: Size, *, kind: str = "comm", cut: str = "last") -> Built:
    """Training in bfloat16 with weights and Adam in float32. ``cut``: the weights' ``last`` or ``first`` dimension."""
    place = Place(devices)
    loss = partial(
        transformer.loss_of,
        whole=lambda name, weight: place.gathered(
            weight.astype(jnp.bfloat16), -1 if cut == "last" or name == "embedding" else -2
        ),
        kept=lambda x: place.kept(x, AXIS),
        unroll=kind == "unrolled" or 1,
    )
    params = place.normal(transformer.shapes_of(size, CUTS[cut]))
    return trained(loss, params, place.put(transformer.tokens(size), 0), RATES[kind])
