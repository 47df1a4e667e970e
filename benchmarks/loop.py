"""A workload as a program that knows nothing of being measured: python -m benchmarks.loop NAME [--steps N] [--size tiny]."""

from __future__ import annotations

import argparse

import jax

from benchmarks.workloads import WORKLOADS


def main() -> None:
    """Steps, and a line with the loss at every tenth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loop", description=(__doc__ or "").split(":")[0])
    parser.add_argument("workload", choices=list(WORKLOADS), metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--size", choices=["tiny", "full"], default="full")
    given = parser.parse_args()
    _, step, state, batch = WORKLOADS[given.workload].built(given.size, jax.devices())
    for number in range(1, given.steps + 1):
        state, loss = step(state, batch)
        if number % 10 == 0:
            print(f"step {number} loss {float(loss):.6f}", flush=True)


if __name__ == "__main__":
    main()
