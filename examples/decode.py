"""Decode token by token with a transformer whose layers are split over the devices: two all-reduces a layer, each small.

    python decode.py [--path fused|kernel|psum] [--batch 1] [--pad-to 8] [--layers 4] ...

The paths: ``psum`` is lax.psum, then the addition and the norm. ``kernel`` has AllReduce.psum in its place. ``fused`` is sum,
addition and norm in one kernel. Where AllReduce has no kernel (without NVLink, on a CPU) the three are the same program.

``--pad-to 8`` fills up a batch of fewer rows with rows of zeros, for matrix products, sums and norms; attention goes without
them. XLA's matrix-vector products can take longer than its products of matrices.

Without a GPU it uses two devices of the CPU, unless XLA_FLAGS says how many.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from typing import Any, NamedTuple

import jaxgpu_tune

HOST_DEVICES = "xla_force_host_platform_device_count"
given = jaxgpu_tune.detect().gpus or HOST_DEVICES in os.environ.get("XLA_FLAGS", "")
jaxgpu_tune.configure("decode", flags=None if given else {HOST_DEVICES: 2})

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import AllReduce

EPS = 1e-6
PATHS = ("psum", "kernel", "fused", "none")
"""``none`` leaves the sums out: wrong numbers, but the time that is left when communication costs nothing."""
Tree = Any


class Size(NamedTuple):
    """``groups``: heads of keys and values; ``inner``: width of the feed-forward part; ``past``: tokens in the cache.

    ``pad_to``: rows of all but attention and cache, if the batch has fewer.
    """

    layers: int = 4
    width: int = 256
    heads: int = 16
    groups: int = 8
    inner: int = 512
    past: int = 64
    batch: int = 1
    pad_to: int = 0

    @property
    def rows(self) -> int:
        """Of the activations."""
        return max(self.batch, self.pad_to)

    def problems(self, ranks: int) -> list[str]:
        """Why so many ranks cannot share this decoder's work evenly; empty if they can."""
        even = {
            "--groups by the number of devices": (self.groups, ranks),
            "--inner by the number of devices": (self.inner, ranks),
            "--heads by --groups": (self.heads, self.groups),
            "--width by --heads": (self.width, self.heads),
        }
        small = [f"--{name.replace('_', '-')}" for name, size in self._asdict().items() if size < (name != "pad_to")]
        uneven = [f"{what}: {one} by {other}" for what, (one, other) in even.items() if one % max(1, other)]
        return [f"{name} is too small" for name in small] + [f"must divide evenly: {what}" for what in uneven]


WEIGHTS = {
    "qkv": P(None, "tp"),
    "out": P("tp"),
    "gate_up": P(None, "tp"),
    "down": P("tp"),
    "norm_1": P(),
    "norm_2": P(),
}
CACHE = {"keys": P(None, "tp"), "values": P(None, "tp")}


def weights_of(size: Size, mesh: Mesh, dtype: Any = jnp.bfloat16) -> list[Tree]:
    """Random weights, a dictionary a layer, each made where it lies."""
    d, part = size.width, size.width // size.heads
    shapes = {
        "qkv": (d, (size.heads + 2 * size.groups) * part),
        "out": (d, d),
        "gate_up": (d, 2 * size.inner),
        "down": (size.inner, d),
    }
    split = {name: NamedSharding(mesh, spec) for name, spec in WEIGHTS.items()}

    @partial(jax.jit, out_shardings=split)
    def layer(key: jax.Array) -> Tree:
        keys = dict(zip(shapes, jax.random.split(key, len(shapes)), strict=True))
        random = {n: (jax.random.normal(keys[n], s) * s[0] ** -0.5).astype(dtype) for n, s in shapes.items()}
        return {**random, "norm_1": jnp.ones(d, dtype), "norm_2": jnp.ones(d, dtype)}

    return [layer(jax.random.PRNGKey(number)) for number in range(size.layers)]


def cache_of(size: Size, mesh: Mesh, dtype: Any = jnp.bfloat16) -> list[Tree]:
    """Empty keys and values of each layer, split by heads."""
    shape = (size.batch, size.groups, size.past, size.width // size.heads)
    split = {name: NamedSharding(mesh, spec) for name, spec in CACHE.items()}
    empty = jax.jit(lambda: {name: jnp.zeros(shape, dtype) for name in CACHE}, out_shardings=split)
    return [empty() for _ in range(size.layers)]


def make_step(size: Size, mesh: Mesh, path: str, compiler_options: dict[str, Any] | None = None) -> Any:
    """The compiled step: (communicator, weights, cache, x, position) -> (cache, x); the cache's memory is used again."""
    spec = P(*mesh.axis_names)
    layers = [WEIGHTS] * size.layers, [CACHE] * size.layers

    def step(comm: AllReduce, weights: list[Tree], cache: list[Tree], x: jax.Array, position: jax.Array) -> Any:
        following = partial(summed, comm, path)
        h = padded(x, size)
        y = normed(h, weights[0]["norm_1"])
        after = []
        for number, (w, past) in enumerate(zip(weights, cache, strict=True)):
            heads, kept = attended((y @ w["qkv"])[: size.batch], past, position, size)
            h, y = following(padded(heads, size) @ w["out"], h, w["norm_2"])
            gate, up = jnp.split(y @ w["gate_up"], 2, axis=-1)
            gamma = weights[(number + 1) % size.layers]["norm_1"]
            h, y = following((jax.nn.silu(gate) * up) @ w["down"], h, gamma)
            after.append(kept)
        return after, y[: size.batch]

    mapped = jax.shard_map(
        step, mesh=mesh, in_specs=(spec, *layers, P(), P()), out_specs=(layers[1], P()), check_vma=False
    )
    return jax.jit(mapped, donate_argnums=2, compiler_options=compiler_options)


def padded(x: jax.Array, size: Size) -> jax.Array:
    """``x`` with rows of zeros after those of the batch."""
    return jnp.pad(x, ((0, size.rows - size.batch), (0, 0)))


def summed(comm: AllReduce, path: str, part: jax.Array, h: jax.Array, gamma: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The sum over the ranks added to the residual, and its norm, in the way that ``path`` names."""
    if path == "fused":
        return comm.psum_add_rmsnorm(part, h, gamma, EPS)
    h = h + {"kernel": comm.psum, "psum": lambda x: lax.psum(x, "tp"), "none": lambda x: x}[path](part)
    return h, normed(h, gamma)


def normed(x: jax.Array, gamma: jax.Array) -> jax.Array:
    """RMS norm, computed in float32."""
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + EPS) * gamma).astype(x.dtype)


def attended(qkv: jax.Array, past: Tree, position: jax.Array, size: Size) -> tuple[jax.Array, Tree]:
    """One token's attention over the cache, with this rank's heads: -> (batch, width of these heads), and the cache after."""
    part, each = size.width // size.heads, size.heads // size.groups
    rows = qkv.reshape(qkv.shape[0], -1, each + 2, part)
    keys, values = (
        lax.dynamic_update_slice(past[name], rows[:, :, at, None], (0, 0, position, 0))
        for name, at in (("keys", each), ("values", each + 1))
    )
    scores = jnp.einsum("bghd,bgsd->bghs", rows[:, :, :each], keys).astype(jnp.float32) / part**0.5
    weights = jax.nn.softmax(jnp.where(jnp.arange(size.past) <= position, scores, -1e9)).astype(qkv.dtype)
    heads = jnp.einsum("bghs,bgsd->bghd", weights, values)
    return heads.reshape(qkv.shape[0], -1), {"keys": keys, "values": values}


def decode(size: Size, mesh: Mesh, comm: AllReduce, path: str, tokens: int, **options: Any) -> tuple[float, np.ndarray]:
    """(seconds a token, the last token's activations) after a step that compiles."""
    step = make_step(size, mesh, path, **options)
    weights, cache = weights_of(size, mesh), cache_of(size, mesh)
    x = jax.device_put(
        np.random.default_rng(0).standard_normal((size.batch, size.width)).astype(jnp.bfloat16),
        NamedSharding(mesh, P()),
    )
    positions = [jax.device_put(jnp.int32(n % size.past), NamedSharding(mesh, P())) for n in range(tokens + 1)]
    cache, x = jax.block_until_ready(step(comm, weights, cache, x, positions[0]))
    start = time.perf_counter()
    for position in positions[1:]:
        cache, x = step(comm, weights, cache, x, position)
    jax.block_until_ready(x)
    return (time.perf_counter() - start) / tokens, np.asarray(x.astype(jnp.float32))


def main() -> None:
    """Decode by the path asked for, or by each, and print the tokens a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", choices=PATHS, help="default: psum, kernel and fused")
    parser.add_argument("--tokens", type=int, default=32)
    for name, default in Size._field_defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    given = vars(parser.parse_args())
    path, tokens = given.pop("path"), given.pop("tokens")
    size = Size(**given)
    mesh = Mesh(np.array(jax.devices()), ("tp",))
    if problems := [*size.problems(mesh.size), *(["--tokens is too small"] if tokens < 1 else [])]:
        parser.error("; ".join(problems))
    comm = AllReduce(mesh, "tp")
    print(comm.explain(jax.ShapeDtypeStruct((size.rows, size.width), jnp.bfloat16)))
    for one in (path,) if path else PATHS[:3]:
        seconds, x = decode(size, mesh, comm, one, tokens)
        print(
            f"{one}: {size.batch / seconds:.1f} tokens/s, {1e3 * seconds:.3f} ms a step, mean square {np.mean(x * x):.4f}"
        )


if __name__ == "__main__":
    main()
