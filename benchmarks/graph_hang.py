"""Which programs of loops and conditionals do not come back from CUDA graphs whose commands run concurrently, as JSON.

    python -m benchmarks.graph_hang [--limit 20] [--out DIR] [--platform cpu]

The programs grow; each runs in a process of its own that is ended when it is not through ``--limit`` seconds after it was
compiled. First each program with the settings that are suspected, until one does not come back; then that one with each
neighbour of these settings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Timer
from typing import Any

import jaxgpu_tune
from benchmarks.told import without_root
from benchmarks.variants import bare_environ

ROOT = Path(__file__).resolve().parent.parent
MODE, GRAPHS = "--xla_gpu_command_buffer_scheduling_mode=CONCURRENT", "--xla_gpu_enable_command_buffer="
SUSPECTED = f"{MODE} {GRAPHS}+WHILE,+CONDITIONAL"
NEIGHBOURS = {
    "nothing": "",
    "CONCURRENT": MODE,
    "WHILE and CONDITIONAL": f"{GRAPHS}+WHILE,+CONDITIONAL",
    "CONCURRENT with WHILE": f"{MODE} {GRAPHS}+WHILE",
    "CONCURRENT with CONDITIONAL": f"{MODE} {GRAPHS}+CONDITIONAL",
    "CONCURRENT with WHILE, without CONDITIONAL": f"{MODE} {GRAPHS}FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,WHILE",
}
CALLS, LONGEST_START = 3, 90
"""Timed calls; and seconds that starting and compiling may take."""
READY = "\x01ready"
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""On the CPU, whose speed is not asked for, programs are compiled sooner."""


def main() -> int:
    """Run what is asked for, print a line each, write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_hang", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--limit", type=float, default=20, help="seconds after which a program counts as not coming back"
    )
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results"))
    parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--child", choices=list(PROGRAMS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print("\x01" + json.dumps(timed(PROGRAMS[given.child])))
        return 0
    if given.platform == "cuda" and not jaxgpu_tune.detect().gpus:
        raise SystemExit("No NVIDIA GPU can be used here; --platform cpu tries the programs on the CPU.")
    found = searched(given)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "graph-hang.json"
    path.write_text(json.dumps({"machine": jaxgpu_tune.detect().to_dict(), "runs": found}, indent=1) + "\n")
    return 0


def searched(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Each run: program, flags, and "ms" a call, or "waiting"."""
    found = []
    for program in PROGRAMS:
        found.append(run(given, program, SUSPECTED))
        if "waiting" in found[-1]:
            break
    else:
        return found
    return found + [run(given, found[-1]["program"], flags) for flags in NEIGHBOURS.values()]


def run(given: argparse.Namespace, program: str, flags: str) -> dict[str, Any]:
    """One program in a process of its own."""
    visible = {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES",) if name in os.environ}
    environ = bare_environ() | visible | {"XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}
    environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{flags} {QUICK}"} if given.platform == "cpu" else {}
    command = [sys.executable, "-m", "benchmarks.graph_hang", "--child", program]
    told: dict[str, Any] = {"program": program, "flags": flags}
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, text=True)
        told |= ended(child, given.limit)
        if "error" in told:
            said.seek(0)
            told["error"] = without_root(said.read()[-800:])
    print(json.dumps(told), flush=True)
    return told


def ended(child: subprocess.Popen[str], limit: float) -> dict[str, Any]:
    """What it told; "waiting" if it was compiled but not through in time, "error" if it was not compiled or failed."""
    assert child.stdout is not None
    starting = Timer(LONGEST_START, child.kill)
    starting.start()
    ready = child.stdout.readline().rstrip("\n") == READY
    starting.cancel()
    late = Event()
    ending = Timer(limit, lambda: (late.set(), child.kill()))
    ending.start()
    with child.stdout:  # the same reader: what follows the first line may be in its buffer already
        out = child.stdout.read()
    child.wait()
    ending.cancel()
    if late.is_set():
        return {"waiting": limit} if ready else {"error": ""}
    return dict(json.loads(out.removeprefix("\x01"))) if ready and child.returncode == 0 else {"error": ""}


def timed(program: Callable[[], tuple[Any, tuple[Any, ...]]]) -> dict[str, Any]:
    """Milliseconds a call after the first, and the last value."""
    step, arguments = program()
    compiled = step.lower(*arguments).compile()
    print(READY, flush=True)
    state, value = compiled(*arguments)
    number, begun = float(value), time.perf_counter()
    for _ in range(CALLS):
        state, value = compiled(state, *arguments[1:])
        number = float(value)
    return {"ms": 1e3 * (time.perf_counter() - begun) / CALLS, "value": number}


def loop_with_conditional() -> tuple[Any, tuple[Any, ...]]:
    """A loop of unknown length with a conditional in it."""
    import jax

    return jax.jit(lambda x: (x, halved(x).sum())), (_numbers(),)


def loop_in_loop() -> tuple[Any, tuple[Any, ...]]:
    """Such a loop inside another one."""
    import jax

    def outer(x: Any) -> Any:
        body = lambda carry: (carry[0] + 1, halved(carry[1] + carry[0]))  # noqa: E731
        return jax.lax.while_loop(lambda carry: carry[0] < 4 + (carry[1][0] > 0), body, (0, x))[1]

    return jax.jit(lambda x: (x, outer(x).sum())), (_numbers(),)


def conditional_in_both() -> tuple[Any, tuple[Any, ...]]:
    """A loop in a loop, with a conditional in each whose branches hold loops too, as NUTS doubles its trees."""
    import jax

    def inner(carry: Any) -> Any:
        number, x = carry
        x = jax.lax.cond(x.sum() > 0, halved, lambda y: jax.lax.fori_loop(0, number, lambda _, z: z + 0.5, y), x)
        return number + 1, x

    def outer(x: Any) -> Any:
        return jax.lax.while_loop(lambda carry: (carry[0] < 6) & (abs(carry[1]).max() < 1e6), inner, (0, x))[1]

    return jax.jit(lambda x: (x, outer(x).sum())), (_numbers(),)


def nuts(chains: int) -> tuple[Any, tuple[Any, ...]]:
    """``benchmarks.programs.mcmc``, small. One chain has real conditionals; those of many become selections."""
    import jax

    from benchmarks.programs import mcmc

    step, state, batch = mcmc.build(jax.devices(), mcmc.Size(chains, 200, 4, 2))
    return step, (state, batch)


def halved(x: Any) -> Any:
    """Smaller and smaller, by one way or the other."""
    import jax

    def body(y: Any) -> Any:
        return jax.lax.cond(y.sum() > 1, lambda z: z / 2, lambda z: z * 0.9 - 0.01, y)

    return jax.lax.while_loop(lambda y: y.max() > 0.1, body, x)


def _numbers() -> Any:
    import jax.numpy as jnp

    return jnp.linspace(-3.0, 40.0, 64)


PROGRAMS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "loop with conditional": loop_with_conditional,
    "loop in loop with conditional": loop_in_loop,
    "conditionals around loops": conditional_in_both,
    "NUTS, one chain": partial(nuts, 1),
    "NUTS, many chains": partial(nuts, 8),
}
"""Smallest first."""

if __name__ == "__main__":
    sys.exit(main())
