"""One measurement, in a process of its own: ``python -m benchmarks.measure JSON``; what it found is the last line of stdout.

Started ahead of time it imports JAX and waits for a line on stdin before it touches a GPU. With ``processes`` it starts one of
its kind for each GPU, which join a job.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax

from benchmarks.ports import free_port
from benchmarks.workloads import WORKLOADS, Workload

FIRST = 10
"""So many steps are waited for one by one, and their losses kept: compilation, AutoPGLE's profiled runs, warming up."""
WINDOW = 0.25
"""Seconds of steps after which the device is waited for, as a training loop does when it logs."""


def main() -> int:
    """Measure, or start those that do."""
    job = json.loads(sys.argv[1])
    if job["processes"] > 1 and "rank" not in job:
        return one_each(job)
    if not sys.stdin.readline():
        sys.exit("who started this has ended")
    if job["processes"] > 1:
        join(job)
    told = measured(WORKLOADS[job["workload"]], job)
    print("\x01" + json.dumps(told))
    return 0


def one_each(job: dict[str, Any]) -> int:
    """One process a GPU; the first one's stdout is this one's. Exit code 0 only if all end well."""
    port = free_port()
    environ = {**os.environ, **({"JAX_NUM_CPU_DEVICES": "1"} if os.environ.get("JAX_PLATFORMS") == "cpu" else {})}
    asked = [json.dumps({**job, "rank": rank, "port": port}) for rank in range(job["processes"])]
    commands = [[sys.executable, "-m", "benchmarks.measure", one] for one in asked]
    outs = [None, *(subprocess.DEVNULL for _ in commands[1:])]
    members = [
        subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=out, text=True)
        for command, out in zip(commands, outs, strict=True)
    ]
    line = sys.stdin.readline()
    for one in members:
        assert one.stdin is not None
        one.stdin.write(line)
        one.stdin.close()
    while (codes := [one.poll() for one in members]).count(None) and not any(codes):
        time.sleep(0.02)
    for one in members:
        one.kill()  # one that failed leaves the others waiting
    return max(abs(code or 0) for code in codes)


def join(job: dict[str, Any]) -> None:
    """Become one process of a job, with one GPU; all must be set alike."""
    import jaxgpu_tune

    jax.distributed.initialize(
        f"127.0.0.1:{job['port']}",
        job["processes"],
        job["rank"],
        [job["rank"]] if os.environ.get("JAX_PLATFORMS") != "cpu" else None,
        cluster_detection_method="deactivate",
    )
    if found := jaxgpu_tune.check_processes():
        sys.exit("; ".join(finding.message for finding in found))


def measured(workload: Workload, job: dict[str, Any]) -> dict[str, Any]:
    """Build, warm up, time."""
    started = time.perf_counter()
    devices = workload.taken(jax.devices())
    size, step, state, batch = workload.built(job["size"], devices)
    jax.block_until_ready(state)
    ready = time.perf_counter()
    state, first, losses = first_steps(step, state, batch)
    found = {
        "size": size._asdict(),
        "start_seconds": ready - started,
        "compile_seconds": sum(first) - FIRST * min(first),
        "losses": losses,
        "device": f"{len(devices)} x {devices[0].device_kind}",
        "jax": jax.__version__,
    }
    if workload.until == "first step":
        return {**found, "step_ms": [1e3 * (ready - started + first[0])], **memory()}
    times, last, state = windows(step, state, batch, first[-1], job["seconds"])
    module = workload.loaded()
    check = str(module.check(state)) if hasattr(module, "check") else None
    return {**found, "step_ms": [1e3 * one for one in times], "last_loss": last, "check": check, **memory()}


def first_steps(step: Callable[..., Any], state: Any, batch: Any) -> tuple[Any, list[float], list[float]]:
    """The state after the first steps, the seconds of each, and its loss."""
    seconds, losses = [], []
    for _ in range(FIRST):
        begun = time.perf_counter()
        state, loss = step(state, batch)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - begun)
    return state, seconds, losses


def windows(
    step: Callable[..., Any], state: Any, batch: Any, guess: float, seconds: float
) -> tuple[list[float], float, Any]:
    """Seconds a step in each window, the last loss, and the state. The first window is one more warm-up."""
    steps = max(1, round(WINDOW / guess))
    number = 1 + max(3, round(seconds / WINDOW))
    times, loss = [], None
    for _ in range(number):
        begun = time.perf_counter()
        for _ in range(steps):
            state, loss = step(state, batch)
        jax.block_until_ready(loss)
        times.append((time.perf_counter() - begun) / steps)
    assert loss is not None
    return times[1:], float(loss), state


def memory() -> dict[str, list[int | None]]:
    """Of each local device, bytes: the most that arrays took, and what the process holds beside the pool they lie in.

    None where the platform does not tell. The second holds the CUDA context, kernels and CUDA graphs.
    """
    told = [device.memory_stats() or {} for device in jax.local_devices()]
    held = used_bytes()
    pools = [one.get("pool_bytes", one.get("bytes_reserved")) for one in told]
    beside = [used - pool for used, pool in zip(held, pools, strict=False) if pool]
    return {"peak_bytes": [one.get("peak_bytes_in_use") for one in told], "beside_pool_bytes": beside or [None]}


def used_bytes() -> list[int]:
    """By NVML, of each GPU that this process may use, what is taken of its memory."""
    import pynvml

    names = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByUUID(name) for name in names]
        return [int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles]
    except pynvml.NVMLError:
        return []


if __name__ == "__main__":
    sys.exit(main())
