"""What the sums cost: alone by size, in one step and in two, with addition and norm by rows, in a decode step, and each kernel."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import decode as example
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import shapes

from .common import WIDTH, Bench, bench, by_rank, chained, kernel_times, microseconds, variants

SIZES = tuple(1 << power for power in (12, 13, 14, 16, 17, 18, 19, 20, 22))
AROUND_CUTOVER = tuple(1 << power for power in range(16, 23))
ONE_SHOT_UP_TO = {"one-shot": 1 << 62, "two-shot": 0}
PADDED, WORTH_PADDING = 8, ("none", "shipped", "nccl", "ours")
"""Rows that a single sequence is padded to, and by which ways it is measured."""
DECODER = example.Size(layers=32, width=4096, heads=32, groups=8, inner=14336, past=1024)


def latency(b: Bench) -> Any:
    """Microseconds of a scaling and an all-reduce, by what does it and by size."""
    psum = lambda _, x: lax.psum(x * 0.5, "tp")  # noqa: E731
    ways = {name: (psum, options) for name, options in variants(b).items()}
    ways["ours"] = (lambda comm, x: comm.psum(x * 0.5), {})
    found: dict[str, dict[int, list[float]]] = {}
    for size in SIZES if b.gpu else SIZES[:2]:
        x = by_rank(b, np.ones((b.mesh.size, size // 2)).astype(jnp.bfloat16))
        for name, (one, options) in ways.items():
            found.setdefault(name, {})[size] = microseconds(b, one, x, compiler_options=options)
    return found


def cutover(b: Bench) -> Any:
    """Microseconds of a scaling and an all-reduce by size, in one step and in two, whatever the size above which there are two."""
    if b.mesh.size == 2:
        return "two ranks always take one step"
    found: dict[str, dict[int, list[float]]] = {}
    for kind, up_to in ONE_SHOT_UP_TO.items():
        shapes.ONE_SHOT_BYTES[b.mesh.size] = up_to
        jax.clear_caches()
        forced = bench()
        for size in AROUND_CUTOVER if b.gpu else AROUND_CUTOVER[:1]:
            x = by_rank(forced, np.ones((b.mesh.size, size // 2)).astype(jnp.bfloat16))
            print(forced.comm.explain(x[0]), flush=True)
            found.setdefault(kind, {})[size] = microseconds(forced, lambda comm, x: comm.psum(x * 0.5), x)
    return found


def rows(b: Bench) -> Any:
    """Microseconds of a scaling, all-reduce, addition and norm, by what does it and by rows of ``WIDTH``."""
    found: dict[str, dict[int, list[float]]] = {}
    for number in (1, 8, 32, 128) if b.gpu else (1,):
        x = by_rank(b, np.ones((b.mesh.size, number, WIDTH)).astype(jnp.bfloat16))
        for name, (path, options) in _ways(b).items():
            found.setdefault(name, {})[number] = microseconds(b, added(path), x, compiler_options=options)
    return found


def trace(b: Bench) -> Any:
    """Microseconds of each kernel in a profile without CUDA graphs, waiting for the peer included: number, median, p10, p90."""
    found = {}
    options = {"xla_gpu_enable_command_buffer": ""} if b.gpu else {}
    ways = {"sum alone": lambda comm, y: comm.psum(y * 0.5), "fused": added("fused"), "shipped": added("psum")}
    for name, one in ways.items():
        for number in (1, 8):
            x = by_rank(b, np.ones((b.mesh.size, number, WIDTH)).astype(jnp.bfloat16))
            loop = chained(b, one, 10, compiler_options=options)
            jax.block_until_ready(loop(b.comm, x))
            with tempfile.TemporaryDirectory() as folder:
                with jax.profiler.trace(folder):
                    jax.block_until_ready(loop(b.comm, x))
                found[f"{name}, {2 * number * WIDTH} bytes"] = kernel_times(folder)
    return found


def decode(b: Bench) -> Any:
    """Milliseconds a token, by what does the all-reduce and by batch, and the same after the others ran in between.

    "none" leaves the sums out, "padded" is one sequence in 8 rows.
    """
    found: dict[str, Any] = {}
    for batch in (1, 8, 32) if b.gpu else (1,):
        size = DECODER._replace(batch=batch) if b.gpu else example.Size(layers=2)
        weights = example.weights_of(size, b.mesh)
        decoders = {}
        for name, (path, options, rows) in _decoders(b, batch).items():
            decoder = decoders[name] = Decoder(b, size._replace(pad_to=rows), weights, path, options)
            times = decoder.windows()
            last = np.asarray(decoder.x.astype(jnp.float32))
            told = {"ms": times, "mean square": float(np.mean(last * last)), "seconds to compile": decoder.ready}
            found.setdefault(name, {})[batch] = told
            print(name, batch, times, flush=True)
        for name, decoder in decoders.items():
            found[name][batch]["ms after others"] = decoder.windows()
        jax.clear_caches()
    return found


class Decoder:
    """A compiled step with what it needs for the next token. ``ready``: seconds of the first token."""

    def __init__(self, b: Bench, size: example.Size, weights: Any, path: str, options: dict[str, str]) -> None:
        everywhere = NamedSharding(b.mesh, P())
        values = np.random.default_rng(0).standard_normal((size.batch, size.width)).astype(jnp.bfloat16)
        self.comm, self.weights = b.comm, weights
        self.cache, self.x = example.cache_of(size, b.mesh), jax.device_put(values, everywhere)
        self.step = example.make_step(size, b.mesh, path, options)
        self.number, tokens = (5, 40) if b.gpu else (2, 3)
        self.positions = [jax.device_put(jnp.int32(n % size.past), everywhere) for n in range(tokens)]
        self.ready = self._seconds(self.positions[:1])

    def windows(self) -> list[float]:
        """Milliseconds a token in each of some windows, after one that is not told."""
        times = [1e3 * self._seconds(self.positions) / len(self.positions) for _ in range(self.number + 1)]
        return times[1:]

    def _seconds(self, positions: list[jax.Array]) -> float:
        start = time.perf_counter()
        for position in positions:
            self.cache, self.x = self.step(self.comm, self.weights, self.cache, self.x, position)
        jax.block_until_ready(self.x)
        return time.perf_counter() - start


def _decoders(b: Bench, batch: int) -> dict[str, tuple[str, dict[str, str], int]]:
    """Paths of the example, XLA's options and the rows to pad to."""
    ways = {"none": ("none", {}), **_ways(b)}
    plain = {name: (*way, 0) for name, way in ways.items()}
    padded = {f"{name}, padded": (*way, PADDED) for name, way in ways.items() if name in WORTH_PADDING}
    return plain | padded if batch == 1 else plain


def added(path: str) -> Callable[..., Any]:
    """A scaling, then the sum, addition and norm in the way that ``path`` names."""

    def one(comm: Any, y: jax.Array) -> jax.Array:
        return example.summed(comm, path, y * 0.5, y, jnp.ones(WIDTH, jnp.bfloat16))[1]

    return one


def _ways(b: Bench) -> dict[str, tuple[str, dict[str, str]]]:
    others = {name: ("psum", options) for name, options in variants(b).items()}
    return {**others, "ours, sum alone": ("kernel", {}), "ours": ("fused", {})}
