"""What the stages share: a communicator, functions of one rank's values, and what they take."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import AllReduce
from jaxgpu_tune.measure.trace.trace_file import read_trace, trace_files

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))  # decode.py is an example, too

WIDTH = 4096


class Bench(NamedTuple):
    """``gpu``: whether there are NVIDIA GPUs; without, everything is small and runs through lax.psum. ``seconds``: to make ``comm``."""

    mesh: Mesh
    gpu: bool
    comm: AllReduce
    seconds: float


OPTIONS = json.loads(os.environ.get("ALLREDUCE_OPTIONS", "{}"))
"""Of every communicator, as the command line gave them."""


def bench(**options: Any) -> Bench:
    """A communicator over all devices, whatever was tested of them."""
    options = {"max_bytes": 4 << 20, "timeout": 20.0, "untested": True, **OPTIONS, **options}
    mesh = Mesh(np.array(jax.devices()), ("tp",))
    start = time.perf_counter()
    comm = AllReduce(mesh, "tp", **options)
    return Bench(mesh, jax.devices()[0].platform != "cpu", comm, time.perf_counter() - start)


def mapped(b: Bench, body: Callable[..., Any], arguments: int = 1, **options: Any) -> Any:
    """A jitted function of (comm, arrays split by rank in their first dimension), each rank's result in a row of its own."""

    def alone(comm: AllReduce, *x: jax.Array) -> Any:
        return jax.tree.map(lambda y: y[None], body(comm, *(a[0] for a in x)))

    specs = (b.comm.spec, *(P("tp"),) * arguments)
    return jax.jit(jax.shard_map(alone, mesh=b.mesh, in_specs=specs, out_specs=P("tp"), check_vma=False), **options)


def by_rank(b: Bench, values: Any) -> jax.Array:
    """Values with a row a rank, each row on its device."""
    return jax.device_put(values, NamedSharding(b.mesh, P("tp")))


def chained(b: Bench, one: Callable[..., Any], rounds: int, **options: Any) -> Any:
    """A program of ``rounds`` rounds of calls that each need the one before; a round is one CUDA graph."""

    def body(comm: AllReduce, x: jax.Array) -> Any:
        return lax.fori_loop(0, rounds, lambda _, y: reduce(lambda z, _: one(comm, z), range(in_a_row(b)), y), x)

    return mapped(b, body, **options)


def in_a_row(b: Bench) -> int:
    """Calls that make one CUDA graph."""
    return 50 if b.gpu else 5


def microseconds(b: Bench, one: Callable[..., Any], x: jax.Array, **options: Any) -> list[float]:
    """Of each of the dependent calls in a loop, in nine runs."""
    rounds = 40 if b.gpu else 1
    program = chained(b, one, rounds, **options)
    jax.block_until_ready(program(b.comm, x))
    took = []
    for _ in range(9):
        start = time.perf_counter()
        jax.block_until_ready(program(b.comm, x))
        took.append(1e6 * (time.perf_counter() - start) / (rounds * in_a_row(b)))
    return took


def variants(b: Bench) -> dict[str, dict[str, str]]:
    """XLA's options by the name of what then does the all-reduce."""
    if not b.gpu:
        return {"shipped": {}}
    from jaxgpu_tune.knowledge import flags

    graph = flags.flag("xla_gpu_enable_command_buffer", jaxlib.__version__)
    assert graph is not None
    commands = f"{graph.default.replace(' ', '')},COLLECTIVES"
    nccl = {"xla_gpu_experimental_use_collective_kernels": ""}
    return {"shipped": {}, "nccl": nccl, "nccl in graph": {**nccl, "xla_gpu_enable_command_buffer": commands}}


def kernel_times(folder: str) -> dict[str, list[float]]:
    """(number, median, p10, p90 in microseconds) by kernel name, of what the GPUs ran often in a profile."""
    times: dict[str, list[float]] = {}
    for trace in map(read_trace, trace_files(folder)):
        for event in (event for gpu in trace.gpus() for event in trace.on(gpu)):
            times.setdefault(event.name, []).append(event.duration_ns / 1e3)
    return {name: _spread(sorted(values)) for name, values in times.items() if len(values) >= 100}


def _spread(values: list[float]) -> list[float]:
    return [len(values), *(values[int(part * (len(values) - 1))] for part in (0.5, 0.1, 0.9))]
