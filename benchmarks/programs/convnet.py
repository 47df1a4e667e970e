"""Image classification: a residual convolution net with group normalisation, in flax and optax."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from .images import CLASSES, images_of
from .loop import Built, Check, Tree, main


class Size(NamedTuple):
    """``channels`` at the first of three stages, doubled at each; ``blocks`` a stage."""

    images: int
    pixels: int
    channels: int
    blocks: int


class Block(nn.Module):
    """Two convolutions, added to what comes in."""

    channels: int
    stride: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(images, height, width, channels)."""
        strides = (self.stride, self.stride)
        inner = nn.relu(nn.GroupNorm(8)(nn.Conv(self.channels, (3, 3), strides, use_bias=False)(x)))
        inner = nn.GroupNorm(8)(nn.Conv(self.channels, (3, 3), use_bias=False)(inner))
        if x.shape != inner.shape:
            x = nn.Conv(self.channels, (1, 1), strides, use_bias=False)(x)
        return nn.relu(x + inner)


class Net(nn.Module):
    """Three stages, the images halved between them."""

    channels: int
    blocks: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(images, height, width, 3) -> (images, classes)."""
        x = nn.relu(nn.GroupNorm(8)(nn.Conv(self.channels, (3, 3), use_bias=False)(x)))
        for stage in range(3):
            for block in range(self.blocks):
                x = Block(self.channels * 2**stage, 2 if stage and not block else 1)(x)
        return nn.Dense(CLASSES)(x.mean(axis=(1, 2)))


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(32, 8, 8, 1) if name == "tiny" else Size(256, 32, 64, 2)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device."""
    net, optimizer = Net(size.channels, size.blocks), optax.sgd(0.05, momentum=0.9)
    return trained(net, optimizer, devices[0], size.images, size.pixels)


def trained(
    net: nn.Module, optimizer: optax.GradientTransformation, device: jax.Device, images: int, pixels: int
) -> Built:
    """A net that learns the classes of so many images."""
    with jax.default_device(device):

        @jax.jit
        def start(key: jax.Array) -> tuple[Tree, Tree]:
            batch = images_of(jax.random.PRNGKey(1), images, pixels)
            params = net.init(key, batch[0])
            return {"params": params, "moments": optimizer.init(params), "accuracy": jnp.zeros(())}, batch

        state, batch = start(jax.random.PRNGKey(0))
        return Built(jax.jit(partial(step, net=net, optimizer=optimizer), donate_argnums=0), state, batch)


def step(state: Tree, batch: Tree, net: nn.Module, optimizer: optax.GradientTransformation) -> tuple[Tree, jax.Array]:
    """One step of gradient descent; the state after it and the loss before it."""

    def loss_of(params: Tree) -> tuple[jax.Array, jax.Array]:
        logits = net.apply(params, batch[0])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch[1]).mean()
        return loss, jnp.mean(logits.argmax(-1) == batch[1])

    (loss, accuracy), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
    changes, moments = optimizer.update(grads, state["moments"], state["params"])
    return {"params": optax.apply_updates(state["params"], changes), "moments": moments, "accuracy": accuracy}, loss


def check(state: Tree) -> Check:
    """Guessing is right for one image in ten."""
    return Check("share of the images that are told right", float(state["accuracy"]), least=0.9)


if __name__ == "__main__":
    main(sys.modules[__name__])
