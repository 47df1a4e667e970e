"""What the observer costs: microseconds a call of a jitted function, without it and with it, in processes that run in turns.

python -m benchmarks.observer_cost [--pairs 6] [--calls 20000] [--out FILE]

A call of a tiny function is nearly all overhead, so a microsecond shows; of a step of 20 ms it is 0.005 %. Three ways: nobody
listens; the observer counts calls; the observer counts marks (jaxgpu_tune.step() in the loop). CPU time of the process, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from statistics import median

from jaxgpu_tune.measure.starting import OBSERVE, PATH

ROOT = Path(__file__).resolve().parent.parent
STEP_MS = 20.0
PROGRAM = """
import sys, time
import jax
calls, marked = int(sys.argv[1]), sys.argv[2] == "marks"
if marked:
    import jaxgpu_tune
step = jax.jit(lambda x: x + 1)
x = step(1.0)

def loop(x, n):
    for _ in range(n):
        x = step(x)
        if marked:
            jaxgpu_tune.step()
    return jax.block_until_ready(x)

x = loop(x, calls // 4)
best = []
for _ in range(5):
    begun = time.thread_time()
    x = loop(x, calls)
    best.append((time.thread_time() - begun) / calls * 1e6)
print(min(best))
"""
WAYS = {
    "nobody listens": ("calls", False),
    "calls": ("calls", True),
    "no listener, marks": ("marks", False),
    "marks": ("marks", True),
}


def main() -> int:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "observer-cost.json")
    given = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(given.pairs):
        for name in list(WAYS)[:: 1 if number % 2 == 0 else -1]:
            found[name].append(microseconds(*WAYS[name], given.calls))
    cost = {
        name: median(found[name]) - median(found[bare])
        for name, bare in (("calls", "nobody listens"), ("marks", "no listener, marks"))
    }
    told = {
        "microseconds_a_call": found,
        "added_microseconds": cost,
        "percent_of_a_step_of_20_ms": {name: added / STEP_MS / 10 for name, added in cost.items()},
        "versions": {"jax": version("jax"), "python": platform.python_version()},
        "command": "python -m benchmarks.observer_cost",
    }
    given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(told, indent=1))
    return 0


def microseconds(what: str, watched: bool, calls: int) -> float:
    """CPU microseconds a call in the calling thread, the best of five windows of one process."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "request.json").write_text(json.dumps({"seconds": 3600}), encoding="utf-8")
        more = {OBSERVE: folder, "PYTHONPATH": f"{PATH}{os.pathsep}{ROOT}"} if watched else {"PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-c", PROGRAM, str(calls), what]
        done = subprocess.run(words, env={**os.environ, **more}, capture_output=True, text=True, check=True)
        if watched:
            reports = list(Path(folder).glob("process-*/report.json"))
            assert json.loads(reports[0].read_text())["steps"] >= 5 * calls, "the observer did not see all calls"
        return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
