"""Waves on shallow water, by finite differences in a loop over time; the grid is cut into strips, one a device (physics)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .common import Built, Place, Tree, even

SPEED, DRAG = 0.4, 2e-3


class Size(NamedTuple):
    """A periodic grid of ``rows`` x ``columns``, and how many time steps a call makes."""

    rows: int
    columns: int
    times: int


def size_of(name: str, devices: int) -> Size:
    """``tiny`` or ``full``; the full one's grid grows with the devices."""
    return Size(even(16, devices), 16, 8) if name == "tiny" else Size(1024 * devices, 1024, 200)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """A call moves water by ``times`` steps and gives its mean energy, which drag makes smaller."""
    place = Place(devices)
    shapes = dict.fromkeys(("height", "east", "north"), ((size.rows, size.columns), 0))
    specs = place.specs(shapes)
    moved = place.mapped(partial(moved_by, place=place, times=size.times), (specs,), (specs, jax.P()))
    angle = np.linspace(0, 2 * np.pi, size.columns, endpoint=False)
    down = np.linspace(0, 2 * np.pi, size.rows, endpoint=False)
    height = np.sin(down)[:, None] + np.cos(3 * angle)[None, :]
    fields = {"height": height, "east": np.zeros_like(height), "north": np.zeros_like(height)}
    state = {name: place.put(field.astype(np.float32), 0) for name, field in fields.items()}
    step = jax.jit(lambda state, _: moved(state), donate_argnums=0)
    return Built(step, state, None)


def moved_by(state: Tree, *, place: Place, times: int) -> tuple[Tree, jax.Array]:
    """The water after some time steps, and its mean energy."""
    state = jax.lax.fori_loop(0, times, lambda _, now: moved_once(now, place), state)
    energy = sum(jnp.mean(field**2) for field in state.values())
    return state, place.total(energy) / place.count


def moved_once(now: Tree, place: Place) -> Tree:
    """One time step: slopes push the water, and where more flows in than out it rises."""
    height = now["height"]
    east = (1 - DRAG) * now["east"] - SPEED * (jnp.roll(height, -1, axis=1) - height)
    north = (1 - DRAG) * now["north"] - SPEED * (below(height, place) - height)
    gained = east - jnp.roll(east, 1, axis=1) + north - above(north, place)
    return {"height": height - SPEED * gained, "east": east, "north": north}


def below(field: jax.Array, place: Place) -> jax.Array:
    """Each row's lower neighbour; the last one's comes from the next strip."""
    return jnp.concatenate([field[1:], place.passed(field[:1], -1)])


def above(field: jax.Array, place: Place) -> jax.Array:
    """Each row's upper neighbour; the first one's comes from the strip before."""
    return jnp.concatenate([place.passed(field[-1:], 1), field[:-1]])
