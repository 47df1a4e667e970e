"""Whether the sums are right: each type and size, a million calls under stress, and a peer that never comes."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import launch
from jaxgpu_tune.comms.staging import EMPTY

from .common import Bench, bench, by_rank, mapped

TYPES = (jnp.bfloat16, jnp.float16, jnp.float32)
SIZES = (16, 4096, 8192, 65536, 65552, 1 << 18, 1 << 20, (1 << 20) + 16, 1 << 22)
ROWS = ((1, 4096), (8, 4096), (100, 512), (300, 512), (100, 4096), (2, 16384))
"""Numbers of rows and their widths: fewer and more than a launch has blocks, and rows of more vectors than a block has threads."""


def correct(b: Bench) -> Any:
    """Against float64 on the host: the relative error in L2, where NaN and -0.0 come out, and whether the ranks agree to the bit."""
    sums = [_summed(b, dtype, size) for dtype in TYPES for size in (SIZES if b.gpu else SIZES[:3])]
    rows = [_normed(b, dtype, *shape) for dtype in TYPES for shape in (ROWS if b.gpu else ROWS[:2])]
    return {"seconds to make it": b.seconds, "sums": sums, "rows": rows}


def _summed(b: Bench, dtype: Any, size: int) -> dict[str, Any]:
    values = np.random.default_rng(size).standard_normal((b.mesh.size, size // np.dtype(dtype).itemsize)).astype(dtype)
    values[:, ::7] = -0.0
    values[:, 5::1001] = np.nan
    values.view(np.uint32)[0, 3::1003] = EMPTY
    x = by_rank(b, values)
    ours = np.asarray(mapped(b, lambda comm, x: comm.psum(x))(b.comm, x))
    with np.errstate(invalid="ignore"):
        exact, found = values.astype(np.float64).sum(axis=0), ours[0].astype(np.float64)
    nan, zeros = np.isnan(exact), (np.signbit(values) & (values == 0)).all(axis=0)
    return {
        "dtype": np.dtype(dtype).name,
        "bytes": size,
        "path": b.comm.explain(x[0]),
        "error": float(np.linalg.norm((found - exact)[~nan]) / max(np.linalg.norm(exact[~nan]), 1e-30)),
        "nan right": bool((np.isnan(found) == nan).all()),
        "minus zero right": bool(np.signbit(found[zeros]).all()),
        "ranks alike": bool((ours.view(np.uint8) == ours.view(np.uint8)[:1]).all()),
    }


def _normed(b: Bench, dtype: Any, number: int, width: int) -> dict[str, Any]:
    random = np.random.default_rng(number)
    shape = (b.mesh.size, number, width)
    x = random.standard_normal(shape).astype(dtype)
    residual = np.broadcast_to(random.standard_normal(shape[1:]).astype(dtype), shape)
    gamma = np.broadcast_to(
        random.standard_normal(shape[-1]).astype(np.float32 if number == 8 else dtype), (b.mesh.size, shape[-1])
    )
    fused = mapped(b, lambda comm, *rows: comm.psum_add_rmsnorm(*rows), 3)
    h, y = (np.asarray(a) for a in fused(b.comm, by_rank(b, x), by_rank(b, residual), by_rank(b, gamma)))
    right = x.astype(np.float64).sum(axis=0) + residual[0].astype(np.float64)
    normed = right / np.sqrt((right**2).mean(axis=-1, keepdims=True) + 1e-6) * gamma[0].astype(np.float64)
    far = [float(np.linalg.norm(a[0].astype(np.float64) - r) / np.linalg.norm(r)) for a, r in ((h, right), (y, normed))]
    alike = all(bool((a.view(np.uint8) == a.view(np.uint8)[:1]).all()) for a in (h, y))
    return {"dtype": np.dtype(dtype).name, "rows": number, "width": width, "errors": far, "ranks alike": alike}


def stress(b: Bench) -> Any:
    """A million sums of whole numbers, of each type in turns, of which none may be wrong.

    Sizes interleaved, between NCCL's collectives, two programs dispatched far ahead, one rank late at random, steps whose result
    nobody waits for because of an exception.
    """
    loops, calls = (200, 500) if b.gpu else (3, 10)
    steps = np.arange(1 << 17)[None, :] % 5 + np.arange(b.mesh.size)[:, None]
    x = by_rank(b, steps.astype(np.float32))
    plain = [_stressed(b, dtype, (2048, 64, 1 << 15, 8, 4096), calls, mixed=False) for dtype in TYPES]
    mixed = [_stressed(b, dtype, (8, 1 << 14, 1 << 17, 512), calls // 10, mixed=True) for dtype in TYPES]
    start, total = time.perf_counter(), 0
    wrong: dict[str, list[Any]] = {np.dtype(dtype).name: [] for dtype in TYPES}
    for number in range(2 * loops):
        turn = number % len(TYPES)
        found = wrong[np.dtype(TYPES[turn]).name]
        found.append(plain[turn](b.comm, x))
        total += 5 * calls
        if number % 4 == 0:
            found.append(mixed[turn](b.comm, x))
            total += 2 * 4 * (calls // 10)
        if number % 50 == 7:
            with suppress(KeyboardInterrupt):
                plain[turn](b.comm, x)
                interrupt()
            total += 5 * calls
        if number % 100 == 99:
            jax.block_until_ready(wrong)
    by_type = {name: sum(int(np.asarray(one).sum()) for one in found) for name, found in wrong.items()}
    seconds = time.perf_counter() - start
    return {"calls": total, "wrong": sum(by_type.values()), "wrong by type": by_type, "seconds": seconds}


def interrupt() -> NoReturn:
    """What Ctrl-C does between dispatch and result."""
    raise KeyboardInterrupt


def _stressed(b: Bench, dtype: Any, sizes: tuple[int, ...], calls: int, *, mixed: bool) -> Any:
    """A program that counts the sums that are wrong. ``mixed``: also sums with addition, beside other collectives and delays."""
    world = b.mesh.size

    def body(comm: Any, x: jax.Array) -> jax.Array:
        ranks = (lax.psum(x, "tp") - x * world).astype(dtype)  # what the other ranks' values add beyond this one's

        def once(number: jax.Array, wrong: jax.Array) -> jax.Array:
            wrong = wrong + _delay(x, number, world) if mixed else wrong
            for size in sizes:
                sent = (x[:size] + number % 16).astype(dtype)
                right = lax.psum(sent, "tp") if mixed else sent * dtype(world) + ranks[:size]
                wrong = wrong + (comm.psum(sent) != right).sum()
                if mixed:
                    rows = sent.reshape(-1, min(size, 4096))
                    fused, _ = comm.psum_add_rmsnorm(rows, rows, jnp.ones(rows.shape[1], rows.dtype))
                    wrong = wrong + (fused.reshape(-1) != right + sent).sum()
                    gathered = lax.all_gather(sent[:8], "tp").sum(axis=0)
                    wrong = wrong + (gathered != lax.psum(sent[:8], "tp")).sum()
            return wrong

        return lax.fori_loop(0, calls, once, jnp.zeros((), jnp.int32))

    return mapped(b, body)


def _delay(x: jax.Array, number: jax.Array, world: int) -> jax.Array:
    """Zero, after some work on one rank that differs from call to call."""
    late = lax.axis_index("tp") == number % world
    rounds = jnp.where(late, number * 40503 % 97 % 8, 0)
    worked = lax.fori_loop(0, rounds, lambda _, y: jnp.sin(y + 1.0), x[: 1 << 14])
    return jnp.isnan(worked.sum()).astype(jnp.int32)


def dead(_: Bench) -> Any:
    """A kernel on one rank whose peer runs none: the error that JAX raises, and after how many seconds; the limit is 2."""
    b = bench(max_bytes=1 << 20, timeout=2.0)
    setup = b.comm._setup  # noqa: SLF001 - what a user cannot do: call on one rank alone
    if setup.objection:
        return b.comm.explain()
    alone = Mesh(np.array(jax.devices()[:1]), ("tp",))
    state = jax.device_put(np.asarray(b.comm.state)[:1], jax.devices()[0])
    program = jax.jit(
        jax.shard_map(lambda s, x: launch.psum(setup, x, s), mesh=alone, in_specs=P(), out_specs=P(), check_vma=False)
    )
    x = jax.device_put(np.ones(4096, jnp.bfloat16), jax.devices()[0])
    compiled = program.lower(state, x).compile()
    start = time.perf_counter()
    try:
        value = np.asarray(compiled(state, x))
    except Exception as error:  # noqa: BLE001 - it is what is asked
        return {"error": str(error)[:300], "type": type(error).__name__, "seconds": time.perf_counter() - start}
    return {"error": None, "value": str(value[:4])}
