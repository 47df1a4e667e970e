"""CartPole in JAX: a pole on a cart that is pushed left or right (Barto, Sutton, Anderson 1983; constants of Gym's CartPole-v1)."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

GRAVITY, CART, POLE, HALF, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
FARTHEST, STEEPEST, LONGEST = 2.4, 0.2095, 500


class Cart(NamedTuple):
    """Metres, radians, seconds; ``time``: steps since the start."""

    place: jax.Array
    speed: jax.Array
    angle: jax.Array
    spin: jax.Array
    time: jax.Array


def start(key: jax.Array) -> Cart:
    """Near the middle, nearly upright."""
    return Cart(*jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), time=jnp.zeros(()))


def seen(cart: Cart) -> jax.Array:
    """What the network is shown: (..., 4)."""
    return jnp.stack(cart[:4], axis=-1)


def moved(cart: Cart, action: jax.Array, key: jax.Array) -> tuple[Cart, jax.Array, jax.Array]:
    """The cart after a push (a new one where the episode ended), the reward, and 1.0 where it ended."""
    force = FORCE * (2.0 * action - 1.0)
    sine, cosine = jnp.sin(cart.angle), jnp.cos(cart.angle)
    pull = (force + POLE * HALF * cart.spin**2 * sine) / (CART + POLE)
    turn = (GRAVITY * sine - cosine * pull) / (HALF * (4 / 3 - POLE * cosine**2 / (CART + POLE)))
    push = pull - POLE * HALF * turn * cosine / (CART + POLE)
    after = Cart(
        cart.place + SECONDS * cart.speed,
        cart.speed + SECONDS * push,
        cart.angle + SECONDS * cart.spin,
        cart.spin + SECONDS * turn,
        cart.time + 1.0,
    )
    ended = (jnp.abs(after.place) > FARTHEST) | (jnp.abs(after.angle) > STEEPEST) | (after.time >= LONGEST)
    fresh = start(key)
    return jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, after), jnp.ones(()), ended * 1.0
