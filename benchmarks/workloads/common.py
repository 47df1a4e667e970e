"""What every workload shares: where its arrays lie, the collectives it uses, and how it is trained.

A workload is cut into as many shares as there are devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from examples.sharded_transformer import adam

AXIS = "x"
Tree = Any
Shapes = Mapping[str, "tuple[tuple[int, ...], int | None]"]
"""For each array its whole shape, and the dimension that is cut over the devices (None: every device has it all)."""


def even(number: int, devices: int, unit: int = 1) -> int:
    """The number, or the next above it, that the devices share evenly, in multiples of ``unit``."""
    step = math.lcm(devices, unit)
    return -(-number // step) * step


class Built(NamedTuple):
    """``step(state, batch) -> (state, loss)``, compiled at its first call; it takes the state's memory over."""

    step: Callable[[Tree, Tree], tuple[Tree, jax.Array]]
    state: Tree
    batch: Tree


class Place:
    """The devices of a workload, and where its arrays lie."""

    def __init__(self, devices: Sequence[jax.Device]) -> None:
        self.count = len(devices)
        self.mesh = Mesh(np.array(devices), (AXIS,))
        self.absent = devices[0].platform not in {device.platform for device in jax.devices()}

    def sharding(self, *spec: str | None) -> NamedSharding:
        """How an array lies on the devices."""
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def specs(self, shapes: Shapes) -> dict[str, PartitionSpec]:
        """How each array is cut, for shard_map."""
        return {name: PartitionSpec(*_spec(axis)) for name, (_, axis) in shapes.items()}

    def normal(self, shapes: Shapes, dtype: Any = jnp.float32) -> dict[str, jax.Array]:
        """Normal numbers of variance 1 / (second last dimension), made where they lie; the same for any number of devices.

        Of devices that are absent, which can be compiled for alone, only their shapes.
        """
        if self.absent:
            return {name: self._shaped(whole, dtype, axis) for name, (whole, axis) in shapes.items()}

        @cache
        def maker(whole: tuple[int, ...], axis: int | None) -> Callable[[jax.Array], jax.Array]:
            def make(key: jax.Array) -> jax.Array:
                return (jax.random.normal(key, whole) * whole[-2] ** -0.5).astype(dtype)

            return jax.jit(make, out_shardings=self.sharding(*_spec(axis)))

        keys = jax.random.split(jax.random.PRNGKey(0), len(shapes))
        return {name: maker(*shape)(key) for key, (name, shape) in zip(keys, shapes.items(), strict=True)}

    def put(self, array: np.ndarray[Any, Any], axis: int | None) -> jax.Array:
        """An array of the host, cut over the devices."""
        if self.absent:
            return self._shaped(array.shape, array.dtype, axis)
        return jax.device_put(array, self.sharding(*_spec(axis)))

    def _shaped(self, shape: Sequence[int], dtype: Any, axis: int | None) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.sharding(*_spec(axis)))

    def kept(self, x: jax.Array, *spec: str | None) -> jax.Array:
        """The array, told to lie so (GSPMD adds the communication)."""
        return jax.lax.with_sharding_constraint(x, self.sharding(*spec))

    def gathered(self, shard: jax.Array, axis: int) -> jax.Array:
        """The whole array out of shards along ``axis``."""
        return self.kept(self.kept(shard, *_spec(axis % shard.ndim)))

    def mapped(self, function: Any, in_specs: Any, out_specs: Any) -> Any:
        """``function`` of shares, over all devices."""
        return jax.shard_map(function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)

    # Inside a mapped function:

    def index(self) -> Any:
        """Which share this is."""
        return jax.lax.axis_index(AXIS)

    def total(self, x: jax.Array) -> jax.Array:
        """The sum over all shares."""
        return x if self.count == 1 else jax.lax.psum(x, AXIS)

    def passed(self, x: jax.Array, by: int = 1) -> jax.Array:
        """What the neighbour has, in a ring."""
        ring = [(one, (one + by) % self.count) for one in range(self.count)]
        return x if self.count == 1 else jax.lax.ppermute(x, AXIS, ring)

    def exchanged(self, x: jax.Array) -> jax.Array:
        """Part i of the first dimension goes to device i."""
        return x if self.count == 1 else jax.lax.all_to_all(x, AXIS, 0, 0, tiled=True)


def _spec(axis: int | None) -> tuple[str | None, ...]:
    return () if axis is None else (*(None,) * axis, AXIS)


def trained(loss: Callable[[Tree, Tree], jax.Array], params: Tree, batch: Tree, rate: float) -> Built:
    """Training with Adam, its moments beside the parameters."""

    def start(params: Tree) -> Tree:
        zeros = partial(jax.tree.map, jnp.zeros_like)
        return {"params": params, "mean": zeros(params), "square": zeros(params), "count": jnp.zeros((), jnp.int32)}

    where = jax.tree.map(lambda x: x.sharding, params)
    everywhere = NamedSharding(jax.tree.leaves(where)[0].mesh, PartitionSpec())
    lies = {"params": where, "mean": where, "square": where, "count": everywhere}

    @partial(jax.jit, donate_argnums=0, out_shardings=(lies, everywhere))
    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        value, grads = jax.value_and_grad(loss)(state["params"], batch)
        return adam(state, grads, rate, eps=1e-6), value

    if isinstance(jax.tree.leaves(params)[0], jax.ShapeDtypeStruct):
        shapes = jax.eval_shape(start, params)
        state = jax.tree.map(
            lambda one, place: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place), shapes, lies
        )
        return Built(step, state, batch)
    return Built(step, jax.jit(start, out_shardings=lies, donate_argnums=0)(params), batch)
