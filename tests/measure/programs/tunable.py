"""A loop whose speed and manners its environment decides: argv: steps.

FAST=1 halves the time of a step, SLOW=1 adds a half; HANG, CRASH: what they say, before the first step; CLASH: hangs together with FAST;
WRONG: other numbers; NAN: after a few steps.
"""

from __future__ import annotations

import os
import sys
import time

import jax
import jax.numpy as jnp


def on(name: str) -> bool:
    return os.environ.get(name) == "1"


milliseconds = 8.0 * (0.5 if on("FAST") else 1) * (1.5 if on("SLOW") else 1)
if on("CRASH"):
    sys.exit("it crashed")
if on("HANG") or (on("CLASH") and on("FAST")):
    time.sleep(600)


@jax.jit
def train_step(x):
    return x * 0.99 + (0.01 if on("WRONG") else 0.0)


x = jnp.ones(())
for step in range(int(sys.argv[1])):
    x = train_step(x)
    time.sleep(milliseconds / 1e3)
    value = float("nan") if on("NAN") and step > 3 else float(x)
    if step % 5 == 0:
        print(f"step {step} loss {value:.6f}", flush=True)
