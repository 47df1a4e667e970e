"""What AllReduce does on NVLink: right, fast, in the decode step, under stress, with a peer that never comes, over two processes.

    python benchmarks/allreduce.py --out DIR [--stages correct latency rows decode trace stress dead processes] [--seconds 500]

Each stage runs in a process of its own, for at most the seconds it is given, and its results are written when it ends, with
the cards, the driver and the versions. Without GPUs the stages run on two host devices, through lax.psum, at small sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STAGES = ("correct", "latency", "rows", "decode", "trace", "stress", "dead", "processes")
SIZES = tuple(1 << power for power in (12, 13, 14, 16, 17, 18, 19, 20))
WIDTH = 4096
LOOPS, IN_A_ROW = 40, 50


# What each stage does, in its own process.


def setup() -> dict[str, Any]:
    """jax and what the stages share; imported late, since the parent must hold no GPU."""
    import jax
    import numpy as np
    from jax.sharding import Mesh

    from jaxgpu_tune.comms import AllReduce

    mesh = Mesh(np.array(jax.devices()), ("tp",))
    gpu = jax.devices()[0].platform != "cpu"
    comm = AllReduce(mesh, "tp", max_bytes=4 << 20, timeout=20.0, untested=True)
    return {"mesh": mesh, "gpu": gpu, "comm": comm, "explained": comm.explain()}


def mapped(s: dict[str, Any], body: Any, arguments: int = 1, **options: Any) -> Any:
    """A jitted function of (comm, arrays split by rank in their first dimension), each rank's result in a row of its own."""
    import jax
    from jax.sharding import PartitionSpec as P

    specs = (s["comm"].spec, *(P("tp"),) * arguments)
    alone = lambda comm, *x: jax.tree.map(lambda y: y[None], body(comm, *(a[0] for a in x)))  # noqa: E731
    return jax.jit(jax.shard_map(alone, mesh=s["mesh"], in_specs=specs, out_specs=P("tp"), check_vma=False), **options)


def by_rank(s: dict[str, Any], values: Any) -> Any:
    import jax
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    return jax.device_put(values, NamedSharding(s["mesh"], P("tp")))


def variants(s: dict[str, Any]) -> dict[str, dict[str, str]]:
    """XLA's options by the name of what then does the all-reduce."""
    import jaxlib

    if not s["gpu"]:
        return {"shipped": {}}
    from jaxgpu_tune.knowledge import flags

    kernels = {"xla_gpu_experimental_use_collective_kernels": ""}
    graph = flags.flag("xla_gpu_enable_command_buffer", jaxlib.__version__)
    assert graph is not None
    commands = f"{graph.default.replace(' ', '')},COLLECTIVES"
    return {"shipped": {}, "nccl": kernels, "nccl in graph": {**kernels, "xla_gpu_enable_command_buffer": commands}}


def correct(s: dict[str, Any]) -> Any:
    """Every type and several sizes against float64 on the host: worst error, and whether the ranks agree to the bit."""
    import jax.numpy as jnp
    import numpy as np

    random, found = np.random.default_rng(0), []
    world = s["mesh"].size
    for dtype in (jnp.bfloat16, jnp.float16, jnp.float32):
        for size in (16, 4096, 8192, 65536, 65552, 1 << 18, 1 << 20, 1 << 22):
            values = random.standard_normal((world, size // np.dtype(dtype).itemsize)).astype(dtype)
            values[:, ::7] = -0.0
            values[:, 5::1001] = np.nan
            bits = values.view(np.uint32)
            bits[0, 3::1003] = 0xFFFFFFF1  # what an empty word looks like: a NaN in every type
            x = by_rank(s, values)
            ours = np.asarray(mapped(s, lambda comm, x: comm.psum(x))(s["comm"], x))
            exact = values.astype(np.float64).sum(axis=0)
            nan = np.isnan(exact)
            far = np.abs(ours.astype(np.float64)[0] - exact)[~nan]
            found.append({
                "dtype": np.dtype(dtype).name, "bytes": size, "path": s["comm"].explain(x[0]),
                "error": float(np.linalg.norm(far) / max(np.linalg.norm(exact[~nan]), 1e-30)),
                "nan right": bool((np.isnan(ours.astype(np.float64)[0]) == nan).all()),
                "minus zero right": bool(np.signbit(ours.astype(np.float64)[0])[(values == 0).all(axis=0) & np.signbit(values).all(axis=0)].all()),
                "ranks alike": bool((ours.view(np.uint8) == ours.view(np.uint8)[:1]).all()),
            })  # fmt: skip
    for dtype in (jnp.bfloat16, jnp.float32):
        for rows in (1, 8, 100, 300):
            shape = (world, rows, WIDTH // 8 if rows > 200 else WIDTH)
            x, residual = (by_rank(s, random.standard_normal(shape).astype(dtype)) for _ in range(2))
            gamma = by_rank(
                s, np.broadcast_to(random.standard_normal(shape[-1]), (world, shape[-1])).astype(np.float32)
            )
            residual = by_rank(s, np.broadcast_to(np.asarray(residual)[:1], shape))
            fused = mapped(s, lambda comm, *a: comm.psum_add_rmsnorm(*a), 3)
            h, y = (np.asarray(a).astype(np.float64) for a in fused(s["comm"], x, residual, gamma))
            right = np.asarray(x).astype(np.float64).sum(axis=0) + np.asarray(residual)[0].astype(np.float64)
            normed = right / np.sqrt((right**2).mean(axis=-1, keepdims=True) + 1e-6) * np.asarray(gamma)[0]
            far = [float(np.linalg.norm(a[0] - b) / np.linalg.norm(b)) for a, b in ((h, right), (y, normed))]
            alike = bool((h == h[:1]).all() and (y == y[:1]).all())
            found.append({"dtype": np.dtype(dtype).name, "rows": rows, "errors": far, "ranks alike": alike})
    return found


def chained(s: dict[str, Any], one: Any, loops: int, **options: Any) -> Any:
    """A program of ``loops`` rounds of ``IN_A_ROW`` calls that each need the one before: a round is one CUDA graph."""
    from jax import lax

    def rounds(comm: Any, x: Any) -> Any:
        return lax.fori_loop(0, loops, lambda _, y: reduce(lambda z, _: one(comm, z), range(IN_A_ROW), y), x)

    return mapped(s, rounds, **options)


def seconds_a_call(s: dict[str, Any], one: Any, x: Any, **options: Any) -> list[float]:
    """Microseconds of each of the dependent calls in a loop: nine runs of ``LOOPS`` rounds of them."""
    import jax

    loops = LOOPS if s["gpu"] else 1
    program = chained(s, one, loops, **options)
    jax.block_until_ready(program(s["comm"], x))
    took = []
    for _ in range(9):
        start = time.perf_counter()
        jax.block_until_ready(program(s["comm"], x))
        took.append(1e6 * (time.perf_counter() - start) / (loops * IN_A_ROW))
    return took


def latency(s: dict[str, Any]) -> Any:
    """Microseconds a scaling and an all-reduce, by size and by what does it."""
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    ways = {
        **{name: (lambda comm, x: lax.psum(x * 0.5, "tp"), options) for name, options in variants(s).items()},
        "ours": (lambda comm, x: comm.psum(x * 0.5), {}),
    }
    found: dict[str, dict[int, list[float]]] = {}
    for size in SIZES if s["gpu"] else SIZES[:2]:
        x = by_rank(s, np.ones((s["mesh"].size, size // 2)).astype(jnp.bfloat16))
        for name, (one, options) in ways.items():
            found.setdefault(name, {})[size] = seconds_a_call(s, one, x, compiler_options=options)
    return found


def rows(s: dict[str, Any]) -> Any:
    """Microseconds a scaling, all-reduce, addition and norm, by rows of ``WIDTH``."""
    import jax.numpy as jnp
    import numpy as np

    from decode import summed

    found: dict[str, dict[int, list[float]]] = {}
    ways = {
        **{n: ("psum", o) for n, o in variants(s).items()},
        "ours, sum alone": ("kernel", {}),
        "ours": ("fused", {}),
    }
    for number in (1, 8, 32, 128) if s["gpu"] else (1,):
        x = by_rank(s, np.ones((s["mesh"].size, number, WIDTH)).astype(jnp.bfloat16))
        for name, (path, options) in ways.items():
            gamma = jnp.ones(WIDTH, jnp.bfloat16)

            def one(comm: Any, y: Any, path: str = path, gamma: Any = gamma) -> Any:
                return summed(comm, path, y * 0.5, y, gamma)[1]

            found.setdefault(name, {})[number] = seconds_a_call(s, one, x, compiler_options=options)
    return found


def decode(s: dict[str, Any]) -> Any:
    """Milliseconds a token, by batch and by what does the all-reduce; "none" leaves it out."""
    import jax
    import numpy as np

    import decode as example

    ways = {"none": ("none", {}), **{n: ("psum", o) for n, o in variants(s).items()}}
    ways = {**ways, "ours, sum alone": ("kernel", {}), "ours": ("fused", {})}
    found: dict[str, Any] = {}
    for batch in (1, 8, 32) if s["gpu"] else (1,):
        size = example.Size(32, 4096, 32, 8, 14336, 1024, batch) if s["gpu"] else example.Size()
        weights = example.weights_of(size, s["mesh"])
        for name, (path, options) in ways.items():
            step = example.make_step(size, s["mesh"], path, options)
            times, last = timed(step, s, size, weights, example)
            found.setdefault(name, {})[batch] = {"ms": times, "mean square": float(np.mean(last * last))}
            print(name, batch, statistics.median(times), flush=True)
        jax.clear_caches()
    return found


def timed(step: Any, s: dict[str, Any], size: Any, weights: Any, example: Any) -> tuple[list[float], Any]:
    """Milliseconds a token in each of five windows of 40 tokens, and the last token's activations."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    everywhere = NamedSharding(s["mesh"], P())
    values = np.random.default_rng(0).standard_normal((size.batch, size.width)).astype(jnp.bfloat16)
    cache, x = example.cache_of(size, s["mesh"]), jax.device_put(values, everywhere)
    windows, tokens = (5, 40) if s["gpu"] else (2, 3)
    positions = [jax.device_put(jnp.int32(n % size.past), everywhere) for n in range((windows + 1) * tokens)]
    times = []
    for window in range(windows + 1):
        start = time.perf_counter()
        for position in positions[window * tokens : (window + 1) * tokens]:
            cache, x = step(s["comm"], weights, cache, x, position)
        jax.block_until_ready(x)
        times.append(1e3 * (time.perf_counter() - start) / tokens)
    return times[1:], np.asarray(x.astype(jnp.float32))


def trace(s: dict[str, Any]) -> Any:
    """Microseconds of each kernel of ours in a profile without CUDA graphs, waiting for the peer included: median, p10, p90."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from decode import summed

    found = {}
    options = {"xla_gpu_enable_command_buffer": ""} if s["gpu"] else {}
    for path in ("kernel", "fused"):
        for number in (1, 8):
            x = by_rank(s, np.ones((s["mesh"].size, number, WIDTH)).astype(jnp.bfloat16))
            gamma = jnp.ones(WIDTH, jnp.bfloat16)

            def one(comm: Any, y: Any, path: str = path, gamma: Any = gamma) -> Any:
                return comm.psum(y * 0.5) if path == "kernel" else summed(comm, path, y * 0.5, y, gamma)[1]

            loop = chained(s, one, 10, compiler_options=options)
            jax.block_until_ready(loop(s["comm"], x))
            with tempfile.TemporaryDirectory() as folder:
                with jax.profiler.trace(folder):
                    jax.block_until_ready(loop(s["comm"], x))
                found[f"{path}, {number * WIDTH * 2} bytes"] = kernel_times(folder)
    return found


def kernel_times(folder: str) -> dict[str, Any]:
    """(number, median, p10, p90 in microseconds) by kernel name, of what the GPUs ran."""
    from jax.profiler import ProfileData

    times: dict[str, list[float]] = {}
    for file in Path(folder).rglob("*.xplane.pb"):
        for plane in ProfileData.from_file(str(file)).planes:
            if plane.name.startswith("/device:GPU"):
                for line in plane.lines:
                    for event in line.events:
                        if line.name.startswith("Stream"):
                            times.setdefault(event.name, []).append(event.duration_ns / 1e3)

    def told(values: list[float]) -> list[float]:
        ordered = sorted(values)
        return [len(ordered), *(ordered[int(part * (len(ordered) - 1))] for part in (0.5, 0.1, 0.9))]

    return {name: told(values) for name, values in times.items() if len(values) >= 100}


def stress(s: dict[str, Any]) -> Any:
    """A million sums of whole numbers, of several sizes, between NCCL's collectives, two programs far ahead, one rank late."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    loops, calls = (200, 500) if s["gpu"] else (2, 3)

    def program(sizes: tuple[int, ...], mixed: bool) -> Any:
        def body(comm: Any, x: Any) -> Any:
            rank = lax.axis_index("tp")

            def once(number: Any, wrong: Any) -> Any:
                if mixed:
                    busy = lax.cond(
                        (rank == number % 2) & (number % 5 == 0),
                        lambda: jnp.sin(x[:64, None] * x[None, :64]).sum(),
                        lambda: 0.0,
                    )
                    wrong = wrong + jnp.where(jnp.isnan(busy), 1, 0)
                for size in sizes:
                    sent = (x[:size] + number % 16).astype(jnp.bfloat16)
                    other = lax.psum(sent, "tp") if mixed else sent * comm_size + rank_terms(size)
                    wrong = wrong + (comm.psum(sent) != other).sum()
                    if mixed:
                        wrong = wrong + (lax.all_gather(sent[:8], "tp").sum(axis=0) != lax.psum(sent[:8], "tp")).sum()
                return wrong

            comm_size = jnp.bfloat16(s["mesh"].size)
            terms = lax.psum(x, "tp") - x * s["mesh"].size
            rank_terms = lambda size: terms[:size].astype(jnp.bfloat16)  # noqa: E731
            return lax.fori_loop(0, calls // (10 if mixed else 1), once, jnp.zeros((), jnp.int32))

        return mapped(s, body)

    x = by_rank(s, (np.arange(1 << 17)[None, :] % 5 + np.arange(s["mesh"].size)[:, None]).astype(np.float32))
    plain, mixed = program((2048, 64, 1 << 15, 8, 4096), mixed=False), program((8, 1 << 14, 1 << 17, 512), mixed=True)
    start, wrong, total = time.perf_counter(), [], 0
    for number in range(2 * loops):
        wrong.append(plain(s["comm"], x))
        total += 5 * calls
        if number % 4 == 0:
            wrong.append(mixed(s["comm"], x))
            total += 4 * (calls // 10)
        if number % 50 == 7:
            wrong.pop()  # a step whose result nobody waits for
        if number % 100 == 99:
            jax.block_until_ready(wrong)
    return {
        "calls": total,
        "wrong": int(sum(int(np.asarray(w).sum()) for w in wrong)),
        "seconds": time.perf_counter() - start,
    }


def dead(s: dict[str, Any]) -> Any:
    """A kernel on one rank whose peer runs none: the error that JAX raises, and after how many seconds."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh
    from jax.sharding import PartitionSpec as P

    from jaxgpu_tune.comms import AllReduce, launch

    comm = AllReduce(s["mesh"], "tp", timeout=2.0, untested=True)
    if comm.explain().count("lax.psum, since"):
        return comm.explain()
    alone = Mesh(np.array(jax.devices()[:1]), ("tp",))
    state = jax.device_put(np.asarray(comm.state)[:1], jax.devices()[0])
    program = jax.shard_map(
        lambda state, x: launch.psum(comm._setup, x, state), mesh=alone, in_specs=P(), out_specs=P(), check_vma=False
    )
    start = time.perf_counter()
    try:
        value = np.asarray(jax.jit(program)(state, jnp.ones(4096, jnp.bfloat16)))
    except Exception as error:  # noqa: BLE001 - it is what is asked
        return {"error": str(error)[:300], "type": type(error).__name__, "seconds": time.perf_counter() - start}
    return {"error": None, "value": str(value[:4])}


def member(rank: int, port: int) -> None:
    """One of two processes, each with one GPU: sums against lax.psum, and their time."""
    import jax

    if os.environ.get("JAX_PLATFORMS") == "cpu":
        jax.distributed.initialize(f"localhost:{port}", 2, rank)
    else:
        jax.distributed.initialize(f"localhost:{port}", 2, rank, local_device_ids=[rank])
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    s = setup()
    found: dict[str, Any] = {"explained": s["explained"], "us": {}}
    for size in SIZES[:5:2]:
        local = np.full((1, size // 2), rank + 1).astype(jnp.bfloat16)
        x = jax.make_array_from_process_local_data(NamedSharding(s["mesh"], P("tp")), local)
        ours = mapped(s, lambda comm, x: comm.psum(x))(s["comm"], x)
        found["right"] = found.get("right", True) and bool((np.asarray(ours.addressable_data(0)) == 3).all())
        found["us"][size] = {
            "ours": seconds_a_call(s, lambda comm, x: comm.psum(x * 0.5), x),
            "shipped": seconds_a_call(s, lambda comm, x: lax.psum(x * 0.5, "tp"), x),
        }
    print("\x01" + json.dumps(found), flush=True)


# The parent.


def run_stage(stage: str, seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    """What a stage found, or how it ended, in a process of its own."""
    if stage == "processes":
        port = str(free_port())
        children = [start([f"member{rank}", port], {**environ, "XLA_FLAGS": ""}) for rank in range(2)]
        return {"ranks": [ended(child, seconds) for child in children]}
    return ended(start([stage], environ), seconds)


def start(arguments: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--stage", *arguments]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(child: subprocess.Popen[str], seconds: float) -> dict[str, Any]:
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        err += f"\nended after {seconds:.0f} s"
    told = [line[1:] for line in out.splitlines() if line.startswith("\x01")]
    problem = (
        {} if child.returncode == 0 else {"status": child.returncode, "stderr": err[-3000:], "stdout": out[-2000:]}
    )
    return {**problem, "found": json.loads(told[-1]) if told else None}


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def machine() -> dict[str, Any]:
    import jaxgpu_tune

    return jaxgpu_tune.detect().to_dict()


def main() -> None:
    """Run the stages one after the other while there is time; write the results after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="allreduce")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        return child_main(*given.stage)
    environ = {**os.environ, "JAXGPU_TUNE": "off", "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}"}
    if not machine()["gpus"]:
        environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    begin, results = time.monotonic(), {"machine": machine()}
    for stage in given.stages:
        left = given.seconds - (time.monotonic() - begin)
        if left > 20:
            results[stage] = run_stage(stage, left, environ)
            results[stage]["seconds"] = time.monotonic() - begin
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{given.name}.json").write_text(json.dumps(results, indent=1))
            print(stage, json.dumps(results[stage])[:6000], flush=True)
    return None


def child_main(stage: str, port: str = "0") -> None:
    """One stage, in this process."""
    if stage.startswith("member"):
        return member(int(stage[-1]), int(port))
    s = setup()
    work: Any = {f.__name__: f for f in (correct, latency, rows, decode, trace, stress, dead)}[stage]
    print("\x01" + json.dumps({"comm": s["explained"], **({} if not s["gpu"] else {}), "result": work(s)}), flush=True)
    return None


if __name__ == "__main__":
    main()
