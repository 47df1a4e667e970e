"""One measurement, in a process of its own: ``python -m benchmarks.measure JSON``; what it found is the last line of stdout.

Started ahead of time it imports JAX and waits for a line on stdin before it touches a GPU.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax

from benchmarks.workloads import WORKLOADS

FIRST = 10
"""So many steps are waited for one by one, and their losses kept: compilation, AutoPGLE's profiled runs, warming up."""
WINDOW = 0.25
"""Seconds of steps after which the device is waited for, as a training loop does when it logs."""


def main() -> None:
    """Build, warm up, time."""
    job = json.loads(sys.argv[1])
    if not sys.stdin.readline():
        sys.exit("who started this has ended")
    started = time.perf_counter()
    workload = WORKLOADS[job["workload"]]
    module, options = workload.loaded(), dict(workload.options)
    count = job["devices"] or jax.device_count()
    size = module.size_of(job["size"], count, **options)
    devices = jax.devices() * count if job["alone"] else jax.devices()
    alone = {"alone": True} if job["alone"] else {}
    step, state, batch = module.build(devices[:count], size, **alone, **options)
    jax.block_until_ready(state)
    ready = time.perf_counter()
    state, first, losses = first_steps(step, state, batch)
    times, last = windows(step, state, batch, first[-1], job["seconds"])
    found = {
        "size": size._asdict(),
        "start_seconds": ready - started,
        "compile_seconds": sum(first) - FIRST * min(first),
        "step_ms": [1e3 * one for one in times],
        "losses": losses,
        "last_loss": last,
        "peak_bytes": peak_bytes(),
        "device": f"{1 if job['alone'] else count} x {jax.devices()[0].device_kind}",
        "jax": jax.__version__,
    }
    print("\x01" + json.dumps(found))


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
) -> tuple[list[float], float]:
    """Seconds a step in each window, and the last loss. The first window is one more warm-up."""
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
    return times[1:], float(loss)


def peak_bytes() -> list[int | None]:
    """Of each device; None where the platform does not tell."""
    return [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in jax.local_devices()]


if __name__ == "__main__":
    main()
