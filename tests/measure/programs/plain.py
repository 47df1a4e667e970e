"""A loop in plain JAX on two host devices: argv: steps, how often it waits for the device, and options of the tests.

It keeps the true moments at which it had waited for the device, in the observer's own time: seconds since the process began.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp

steps, every, options = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
folder = Path(os.environ.get("JAXGPU_TUNE_RUN_DIR", "."), os.environ.get("RANK", ""))
folder.mkdir(exist_ok=True)
early = sys.modules.get("_jaxgpu_tune_measure.observer.until_jax")
begun = early.STARTED[1] if early else 0.0
mesh = jax.sharding.Mesh(jax.devices(), "d")
cut = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))


@jax.jit
def train_step(w, x):
    w, v = jnp.tanh(w @ x), x[0]
    for _ in range(8):  # what takes long to compile, also on a busy machine, is the step
        v = jnp.tanh(v @ x)
    return w, jnp.mean(w) + 1e-9 * jnp.mean(v)


if "deaf" in options:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "fork" in options and os.fork() == 0:
    time.sleep(60)
w, x = jax.device_put(jnp.ones((256, 256)), cut), jnp.full((256, 256), 1 / 256)
if "marks" in options:
    import jaxgpu_tune
truth = []
for step in jaxgpu_tune.steps(range(steps)) if "marks" in options else range(steps):
    if "recompile" in options:
        train_step(jnp.ones((step + 2, 256)), x)
    if "profile" in options and step in (20, 40):
        jax.profiler.start_trace(str(folder / "theirs")) if step == 20 else jax.profiler.stop_trace()
    w, loss = train_step(w, x)
    jnp.add(step, 1)
    if (step + 1) % every == 0:
        loss.block_until_ready()
        time.sleep(0.004)
        truth.append((step, time.perf_counter() - begun))
        print(f"step {step} loss = {float(loss):.4f}")
        (folder / "truth.part").write_text(json.dumps(truth))
        (folder / "truth.part").replace(folder / "truth.json")
