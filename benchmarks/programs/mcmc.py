"""Sampling: the posterior of a logistic regression by NUTS, many chains at once, in numpyro.

Each transition builds trees of unknown depth: while loops inside a while loop, with conditionals.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import NUTS

from .loop import Built, Check, Tree, main

ADAPTED = 10
"""So many steps adapt the step size and the mass matrix; what they sample is not kept."""

DEEPEST = 6
"""A tree has at most two to the power of it leaves, so that an odd start costs little."""


class Size(NamedTuple):
    """``transitions`` of each of ``chains`` a step; ``rows`` of data with ``features``."""

    chains: int
    rows: int
    features: int
    transitions: int


def size_of(name: str, devices: int) -> Size:  # noqa: ARG001 - one GPU's work
    """``tiny`` or ``full``."""
    return Size(2, 200, 4, 4) if name == "tiny" else Size(64, 10_000, 16, 10)


def build(devices: Sequence[jax.Device], size: Size) -> Built:
    """Everything on the first device; the state holds the sum of what was sampled after adapting."""
    with jax.default_device(devices[0]):
        keys = jax.random.split(jax.random.PRNGKey(0), 3)

        @jax.jit
        def start(keys: jax.Array) -> Tree:
            inputs = jax.random.normal(keys[0], (size.rows, size.features))
            answers = jax.random.bernoulli(keys[1], jax.nn.sigmoid(inputs @ truth(size.features))) * 1.0
            return inputs, answers

        kernel, data = NUTS(model, max_tree_depth=DEEPEST), start(keys)
        chains = kernel.init(jax.random.split(keys[2], size.chains), ADAPTED * size.transitions, None, data, {})
        state = {"chains": chains, "sum": jnp.zeros(size.features), "steps": jnp.zeros((), jnp.int32)}
        step = jax.jit(partial(sampled, kernel=kernel, transitions=size.transitions), donate_argnums=0)
        return Built(step, state, data)


def truth(features: int) -> jax.Array:
    """The weights that the data were made with."""
    return jnp.linspace(-1.0, 1.0, features)


def model(inputs: jax.Array, answers: jax.Array) -> None:
    """What numpyro samples."""
    weights = numpyro.sample("weights", dist.Normal(jnp.zeros(inputs.shape[1]), 1.0).to_event(1))
    numpyro.sample("answers", dist.Bernoulli(logits=inputs @ weights), obs=answers)


def sampled(state: Tree, data: Tree, kernel: NUTS, transitions: int) -> tuple[Tree, jax.Array]:
    """Every chain some transitions further, and the mean of minus the logarithm of the density, a row."""
    chains = jax.lax.fori_loop(0, transitions, lambda _, chains: kernel.sample(chains, data, {}), state["chains"])
    kept = jnp.where(state["steps"] >= ADAPTED, chains.z["weights"].mean(0), 0.0)
    after = {"chains": chains, "sum": state["sum"] + kept, "steps": state["steps"] + 1}
    return after, chains.potential_energy.mean() / len(data[0])


def check(state: Tree) -> Check:
    """The mean of what was sampled, against what the data were made with; they are few enough to differ a little."""
    kept = jnp.maximum(state["steps"] - ADAPTED, 0)
    error = jnp.sqrt(jnp.mean((state["sum"] / kept - truth(len(state["sum"]))) ** 2))
    return Check("root mean square error of the posterior's mean", float(error), most=0.25)


if __name__ == "__main__":
    main(sys.modules[__name__])
