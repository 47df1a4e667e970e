"""Simulation: a damped oscillation of which only a part is known, the rest a network; adaptive steps and their gradient.

In diffrax, equinox and optax. The known part keeps the number of steps that Tsit5 takes about the same while the rest is learned.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from .loop import Built, Check, Tree, main

TURN, DAMPING, KNOWN_TURN, END = 2.0, 0.2, 1.7, 3.0


class Size(NamedTuple):
    """``trajectories`` are solved at once; ``width`` of the network's two hidden layers."""

    trajectories: int
    width: int


class Field(eqx.Module):
    """How fast the state changes: a turn that is known, and what a small network adds."""

    network: eqx.nn.MLP

    def __init__(self, width: int, key: jax.Array) -> None:
        self.network = eqx.nn.MLP(2, 2, width, depth=2, activation=jax.nn.tanh, key=key)

    def __call__(self, time: jax.Array, state: jax.Array, _: None) -> jax.Array:
        """As diffrax calls it."""
        del time
        return KNOWN_TURN * jnp.stack([state[1], -state[0]]) + self.network(state) / 4


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(16, 32) if name == "tiny" else Size(1024, 64)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device."""
    with jax.default_device(devices[0]):
        optimizer = optax.adam(3e-3)

        @eqx.filter_jit
        def start(key: jax.Array) -> tuple[Tree, Tree]:
            field = Field(size.width, key)
            starts = jax.random.normal(jax.random.PRNGKey(1), (size.trajectories, 2))
            return (field, optimizer.init(eqx.filter(field, eqx.is_array))), (starts, truth(starts))

        state, batch = start(jax.random.PRNGKey(0))
        return Built(eqx.filter_jit(partial(step, optimizer=optimizer)), state, batch)


def step(state: Tree, batch: Tree, optimizer: optax.GradientTransformation) -> tuple[Tree, jax.Array]:
    """One step of Adam; the state after it and the loss before it."""
    field, moments = state
    loss, grads = eqx.filter_value_and_grad(loss_of)(field, *batch)
    changes, moments = optimizer.update(grads, moments)
    return (eqx.apply_updates(field, changes), moments), loss


def loss_of(field: Field, starts: jax.Array, wanted: jax.Array) -> jax.Array:
    """Mean square of what is wrong at the end."""
    return jnp.mean((jax.vmap(partial(solved, field))(starts) - wanted) ** 2)


def solved(field: Field, start: jax.Array) -> jax.Array:
    """The state at the end; the steps to it are as long as the error lets them be."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=END,
        dt0=None,
        y0=start,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5),
        max_steps=256,
    )
    return found.ys[-1]


def truth(starts: jax.Array) -> jax.Array:
    """The end of the damped oscillation in closed form: (trajectories, 2)."""
    x, y = starts[:, 0], starts[:, 1]
    sine, cosine = jnp.sin(TURN * END), jnp.cos(TURN * END)
    return jnp.exp(-DAMPING * END) * jnp.stack([cosine * x + sine * y, cosine * y - sine * x], axis=-1)


def check(state: Tree) -> Check:
    """From starts that it was not fitted to, against the closed form."""
    starts = jax.random.normal(jax.random.PRNGKey(2), (64, 2))
    error = float(eqx.filter_jit(loss_of)(state[0], starts, truth(starts))) ** 0.5
    return Check("root mean square error against the closed form", error, most=0.1)


if __name__ == "__main__":
    main(sys.modules[__name__])
