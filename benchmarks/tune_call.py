"""``jaxgpu_tune.tune(step, …)`` in one process, on a program of people's libraries: python -m benchmarks.tune_call ppo --out tuned.toml."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

import jax

import jaxgpu_tune


def main() -> int:
    """Search, and print the report as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("program", help="a module of benchmarks.programs")
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--out", default="tuned.toml")
    parser.add_argument("--size", choices=["tiny", "full"], default="full")
    given = parser.parse_args()
    program = import_module(f"benchmarks.programs.{given.program}")
    built = program.build(jax.devices(), program.size_of(given.size, jax.device_count()))
    found = jaxgpu_tune.tune(built.step, built.state, built.batch, budget=given.budget, out=given.out, risky=True)
    print(json.dumps(found.to_dict(), default=str))
    print(found, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
