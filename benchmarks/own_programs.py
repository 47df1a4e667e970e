"""``compare`` on programs that know nothing of it: FSDP on all GPUs, PPO, a neural ODE and NUTS on one, and each against itself.

python -m benchmarks.own_programs [--out DIR] [--only NAME ...] [--caches warm] [--pairs N] [--budget SECONDS] [--tiny]

Each case is what `jaxgpu-tune compare` does, and its JSON goes to DIR as soon as it is there; a case that is there already is not
run again. The suite measures the same programs by their own clock.
Cases of one GPU may run side by side, one process a GPU: CUDA_VISIBLE_DEVICES=0 … --only ppo & CUDA_VISIBLE_DEVICES=1 … --only ode.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import jaxgpu_tune
from jaxgpu_tune.arms import arms_of
from jaxgpu_tune.measure.compare import compare_programs
from jaxgpu_tune.measure.comparison import VariantRun
from jaxgpu_tune.measure.protocol import Listener, Protocol

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = 1_000_000


class Case(NamedTuple):
    """Variants of a program."""

    program: tuple[str, ...]
    variants: tuple[str, ...]


FSDP = ("examples/fsdp_training.py", "--steps", str(ENDLESS))


def module(name: str) -> tuple[str, ...]:
    """The command of one of the programs of people's libraries."""
    return ("-m", f"benchmarks.programs.{name}", "--steps", str(ENDLESS))


CASES = {
    "fsdp": Case(FSDP, ("none", "fsdp")),
    "ppo": Case(module("ppo"), ("none", "simulation")),
    "ode": Case(module("ode"), ("none", "simulation", "while_loop")),
    "mcmc": Case(module("mcmc"), ("none", "while_loop")),
    "self-fsdp": Case(FSDP, ("none", "none")),
    "self-ppo": Case(module("ppo"), ("none", "none")),
    "self-ode": Case(module("ode"), ("none", "none")),
}


class Lines(Listener):
    """A line a run."""

    def ends(self, trial: VariantRun) -> None:
        """Its value or its cause."""
        print(f"  {trial.round} {trial.variant}: {trial.cause or trial.value} ({trial.seconds:.1f} s)", flush=True)


def main() -> int:
    """Run the cases that have no result yet; exit code 1 if a reference failed."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    left = [name for name in given.only or CASES if not (given.out / f"{name}.json").exists()]
    return int(any(not measured(name, given) for name in left))


def measured(name: str, given: argparse.Namespace) -> bool:
    """Run one case and keep what came of it; whether its reference ran."""
    case = CASES[name]
    how = Protocol(pairs=given.pairs, seconds=given.seconds, budget=given.budget, caches=given.caches)
    tiny = ("--size", "tiny") if given.tiny and case.program[0] == "-m" else ()
    command = (sys.executable, *case.program, *tiny)
    begun = time.monotonic()
    print(f"{name}: {' against '.join(case.variants)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="own-programs-") as folder:
        base = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        found = compare_programs(arms_of(case.variants, command, base), how, folder=folder, listener=Lines())
    found = found._replace(
        machine=jaxgpu_tune.detect().to_dict(), command=f"python -m benchmarks.own_programs --only {name}"
    )
    told = {"case": name, "wall_seconds": time.monotonic() - begun, **found.to_dict()}
    (given.out / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(found, flush=True)
    return found.reference.status == "ok"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "own-programs")
    parser.add_argument("--only", nargs="+", choices=CASES)
    parser.add_argument("--caches", choices=("cold", "warm"), default="cold")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0, help="of steady state in each run")
    parser.add_argument("--budget", type=float, help="seconds for a case")
    parser.add_argument("--tiny", action="store_true", help="small programs, to try this script on a CPU")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
