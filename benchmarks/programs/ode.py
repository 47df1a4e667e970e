"""Simulation: a neural ODE fitted to a damped oscillation; adaptive steps of Tsit5 and their gradient (diffrax, equinox, optax)."""

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

TURN, DAMPING, END, TIMES = 2.0, 0.1, 3.0, 16


class Size(NamedTuple):
    """``trajectories`` are solved at once; ``width`` of the network's two hidden layers."""

    trajectories: int
    width: int


class Field(eqx.Module):
    """How fast the state changes: a small network."""

    network: eqx.nn.MLP

    def __init__(self, width: int, key: jax.Array) -> None:
        self.network = eqx.nn.MLP(2, 2, width, depth=2, activation=jax.nn.softplus, key=key)

    def __call__(self, time: jax.Array, state: jax.Array, _: None) -> jax.Array:
        """As diffrax calls it."""
        del time
        return self.network(state)


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(16, 32) if name == "tiny" else Size(1024, 64)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device."""
    with jax.default_device(devices[0]):
        field = Field(size.width, jax.random.PRNGKey(0))
        optimizer = optax.adam(3e-3)
        starts = jax.random.normal(jax.random.PRNGKey(1), (size.trajectories, 2))
        state = (field, optimizer.init(eqx.filter(field, eqx.is_array)))
        return Built(eqx.filter_jit(partial(step, optimizer=optimizer)), state, (starts, truth(starts)))


def step(state: Tree, batch: Tree, optimizer: optax.GradientTransformation) -> tuple[Tree, jax.Array]:
    """One step of Adam; the state after it and the loss before it."""
    field, moments = state
    loss, grads = eqx.filter_value_and_grad(loss_of)(field, *batch)
    changes, moments = optimizer.update(grads, moments)
    return (eqx.apply_updates(field, changes), moments), loss


def loss_of(field: Field, starts: jax.Array, wanted: jax.Array) -> jax.Array:
    """Mean square of what is wrong at all times."""
    return jnp.mean((jax.vmap(partial(solved, field))(starts) - wanted) ** 2)


def solved(field: Field, start: jax.Array) -> jax.Array:
    """The state at each of the times; the steps between them are as long as the error lets them be."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=END,
        dt0=None,
        y0=start,
        saveat=diffrax.SaveAt(ts=times()),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5),
        max_steps=256,
    )
    return found.ys


def times() -> jax.Array:
    """Seconds at which the states are compared."""
    return jnp.linspace(0.0, END, TIMES)


def truth(starts: jax.Array) -> jax.Array:
    """The damped oscillation in closed form: (trajectories, times, 2)."""
    turn, shrink = TURN * times(), jnp.exp(-DAMPING * times())
    x, y = starts[:, :1], starts[:, 1:]
    sine, cosine = jnp.sin(turn), jnp.cos(turn)
    return jnp.stack([shrink * (cosine * x + sine * y), shrink * (cosine * y - sine * x)], axis=-1)


def check(state: Tree) -> Check:
    """From starts that it was not fitted to, against the closed form."""
    starts = jax.random.normal(jax.random.PRNGKey(2), (64, 2))
    error = float(eqx.filter_jit(loss_of)(state[0], starts, truth(starts))) ** 0.5
    return Check("root mean square error against the closed form", error, most=0.25)


if __name__ == "__main__":
    main(sys.modules[__name__])
