"""A program compared with itself again and again: how often ``compare`` shows a difference where there is none.

python -m benchmarks.compare_self [--comparisons 20] [--seconds 0.5] [--out FILE] [-- COMMAND…]

Without a command it is a small loop in plain JAX, waited for at every fifth step. Each comparison is exactly
`jaxgpu-tune compare none none -- COMMAND`. Every run is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import jaxgpu_tune
from jaxgpu_tune.arms import arms_of
from jaxgpu_tune.measure.compare import compare_programs
from jaxgpu_tune.measure.protocol import Protocol
from jaxgpu_tune.model import jsonable

ROOT = Path(__file__).resolve().parent.parent
LOOP = """
import jax, jax.numpy as jnp
step = jax.jit(lambda w, x: jnp.tanh(w @ x))
w, x = jnp.ones((384, 384)), jnp.full((384, 384), 1 / 384)
for number in range(1_000_000):
    w = step(w, x)
    if number % 5 == 0:
        w.block_until_ready()
"""


def main() -> int:
    """Compare, count, and keep; exit code 1 if more than one in twenty found a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "compare-self.json")
    parser.add_argument("command", nargs="*", default=[sys.executable, "-c", LOOP])
    given = parser.parse_args()
    found = []
    for number in range(given.comparisons):
        with tempfile.TemporaryDirectory(prefix="compare-self-") as folder:
            arms = arms_of(["none", "none"], given.command, os.environ)
            found.append(compare_programs(arms, Protocol(seconds=given.seconds), folder=folder))
        print(f"{number}: {found[-1].variants[1].verdict.sentence} ({found[-1].seconds:.0f} s)", flush=True)
    wrong = sum(one.verdict != "no-difference" for one in found)
    told = {
        "comparisons": len(found),
        "differences_shown": wrong,
        "machine": jaxgpu_tune.detect().to_dict(),
        "command": "python -m benchmarks.compare_self",
        "each": [_short(one.to_dict()) for one in found],
    }
    given.out.write_text(json.dumps(jsonable(told), indent=1) + "\n", encoding="utf-8")
    print(f"{wrong} of {len(found)} showed a difference that is not there")
    return int(wrong * 20 > len(found))


def _short(told: dict[str, object]) -> dict[str, object]:
    """Of each comparison the verdict and every run's value."""
    variants: list[dict[str, object]] = told["variants"]  # type: ignore[assignment]
    runs = {
        str(one["name"]): [(run["round"], run["status"], run["value"], run["error"]) for run in one["trials"]]  # type: ignore[index, attr-defined]
        for one in variants
    }
    return {"verdict": told["verdict"], "ended": told["ended"], "noise": told["noise"], "runs": runs}


if __name__ == "__main__":
    sys.exit(main())
