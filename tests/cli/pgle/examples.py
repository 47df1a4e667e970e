"""A profile, a program, and command lines of pgle in a process of their own."""

from __future__ import annotations

import subprocess
import sys

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from tests.child import ROOT, clean_environ

TRACE = ROOT / "tests" / "measure" / "traces" / "fsdp-h200x2.xplane.pb.gz"
PROFILE = CostProfile((Cost("all-gather-start", 70.0), Cost("fusion.1", 2.5)))
LOOP = """
import time
import jax
from jax import numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x))
x = jnp.ones((64, 64))
for number in range({steps}):
    x = step(x)
    x.block_until_ready()
    time.sleep(0.002)
"""


def pgle(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """``pgle`` as it is typed, on a machine without a GPU."""
    command = [sys.executable, "-m", "jaxgpu_tune", "pgle", *words]
    env = clean_environ(**environ)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
