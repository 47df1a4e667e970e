"""Reinforcement learning: PPO on CartPole, one compiled call an update, in flax and optax (the pattern of PureJaxRL).

Environments, network, advantages and optimiser run on the GPU; each update is hundreds of small kernels in loops.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from . import cartpole
from .loop import Built, Check, Tree, main

DISCOUNT, LAMBDA, CLIP, ENTROPY, VALUE = 0.99, 0.95, 0.2, 0.01, 0.5
EPOCHS, PARTS, RATE, LARGEST_GRADIENT = 4, 4, 1e-3, 0.5


class Size(NamedTuple):
    """``steps`` of each of ``environments`` are played before the network is updated."""

    environments: int
    steps: int


class Played(NamedTuple):
    """What happened in one step of every environment."""

    seen: jax.Array
    action: jax.Array
    chance: jax.Array
    value: jax.Array
    reward: jax.Array
    ended: jax.Array
    length: jax.Array


class ActorCritic(nn.Module):
    """Logits of the two actions, and the value of what is seen."""

    @nn.compact
    def __call__(self, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(environments, 4) -> (environments, 2), (environments,)."""
        return self.tower(seen, 2, 0.01), self.tower(seen, 1, 1.0)[..., 0]

    def tower(self, x: jax.Array, outputs: int, scale: float) -> jax.Array:
        """Two hidden layers."""
        for _ in range(2):
            x = nn.tanh(nn.Dense(64, kernel_init=nn.initializers.orthogonal(2**0.5))(x))
        return nn.Dense(outputs, kernel_init=nn.initializers.orthogonal(scale))(x)


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(64, 32) if name == "tiny" else Size(2048, 128)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device; the state holds the environments too."""
    with jax.default_device(devices[0]):
        model = ActorCritic()
        optimizer = optax.chain(optax.clip_by_global_norm(LARGEST_GRADIENT), optax.adam(RATE, eps=1e-5))

        @jax.jit
        def start(key: jax.Array) -> Tree:
            key, for_params, for_carts = jax.random.split(key, 3)
            carts = jax.vmap(cartpole.start)(jax.random.split(for_carts, size.environments))
            params = model.init(for_params, cartpole.seen(carts))
            moments = optimizer.init(params)
            return {"params": params, "moments": moments, "carts": carts, "key": key, "length": jnp.zeros(())}

        step = jax.jit(partial(update, model=model, optimizer=optimizer, steps=size.steps), donate_argnums=0)
        return Built(step, start(jax.random.PRNGKey(0)), None)


def update(state: Tree, _: None, model: nn.Module, optimizer: optax.GradientTransformation, steps: int) -> Tree:
    """Play, then learn from it in several epochs; the state after it and the mean loss of the last epoch."""
    key, for_play, for_learning = jax.random.split(state["key"], 3)
    play = partial(played_once, model=model, params=state["params"])
    carts, played = jax.lax.scan(play, state["carts"], jax.random.split(for_play, steps))
    _, last = model.apply(state["params"], cartpole.seen(carts))
    gains = advantages(played, last)
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (played, gains, gains + played.value))
    learn = partial(epoch, batch=batch, model=model, optimizer=optimizer)
    learned = (state["params"], state["moments"])
    (params, moments), losses = jax.lax.scan(learn, learned, jax.random.split(for_learning, EPOCHS))
    length = jnp.sum(played.length * played.ended) / jnp.maximum(played.ended.sum(), 1)
    return {"params": params, "moments": moments, "carts": carts, "key": key, "length": length}, losses[-1].mean()


def played_once(carts: cartpole.Cart, key: jax.Array, model: nn.Module, params: Tree) -> tuple[cartpole.Cart, Played]:
    """One step of every environment."""
    seen = cartpole.seen(carts)
    logits, value = model.apply(params, seen)
    for_action, for_carts = jax.random.split(key)
    action = jax.random.categorical(for_action, logits)
    chance = chance_of(logits, action)
    after, reward, ended = jax.vmap(cartpole.moved)(carts, action, jax.random.split(for_carts, len(action)))
    return after, Played(seen, action, chance, value, reward, ended, carts.time + 1.0)


def advantages(played: Played, last: jax.Array) -> jax.Array:
    """Generalised advantage estimation, backwards in time."""

    def earlier(carry: tuple[jax.Array, jax.Array], now: Played) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        gain, following = carry
        goes_on = 1.0 - now.ended
        surprise = now.reward + DISCOUNT * following * goes_on - now.value
        gain = surprise + DISCOUNT * LAMBDA * goes_on * gain
        return (gain, now.value), gain

    return jax.lax.scan(earlier, (jnp.zeros_like(last), last), played, reverse=True)[1]


def epoch(
    learned: Tree, key: jax.Array, batch: Tree, model: nn.Module, optimizer: optax.GradientTransformation
) -> Tree:
    """Once through what was played, in random parts."""
    order = jax.random.permutation(key, len(batch[1]))
    parts = jax.tree.map(lambda x: x[order].reshape(PARTS, -1, *x.shape[1:]), batch)

    def learn(learned: Tree, part: Tree) -> tuple[Tree, jax.Array]:
        params, moments = learned
        loss, grads = jax.value_and_grad(loss_of)(params, part, model)
        changes, moments = optimizer.update(grads, moments)
        return (optax.apply_updates(params, changes), moments), loss

    return jax.lax.scan(learn, learned, parts)


def loss_of(params: Tree, part: Tree, model: nn.Module) -> jax.Array:
    """PPO's clipped loss, that of the value, and a prize for entropy."""
    played, gains, targets = part
    logits, value = model.apply(params, played.seen)
    ratio = jnp.exp(chance_of(logits, played.action) - played.chance)
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    actor = -jnp.minimum(ratio * gains, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gains).mean()
    near = played.value + jnp.clip(value - played.value, -CLIP, CLIP)
    critic = jnp.maximum((value - targets) ** 2, (near - targets) ** 2).mean() / 2
    entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
    return actor + VALUE * critic - ENTROPY * entropy


def chance_of(logits: jax.Array, action: jax.Array) -> jax.Array:
    """The logarithm of each action's probability."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=-1)[:, 0]


def check(state: Tree) -> Check:
    """A pole that is left to chance falls after about 20 steps."""
    return Check("mean length of the episodes that ended last", float(state["length"]), least=100)


if __name__ == "__main__":
    main(sys.modules[__name__])
