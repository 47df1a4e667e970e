"""Where a step's time goes: what each GPU ran in a mean step of a workload, by variant, as JSON.

python -m benchmarks.step_trace decode [--variants default decode] [--out DIR] [--platform cpu --devices 2]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.outcome import cause, told_in
from benchmarks.variants import DEFAULT, Variant, bare_environ, environ_of, settings_of
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.trace.reduction import GpuStep, reduce_trace
from jaxgpu_tune.measure.trace.trace_file import read_trace, trace_files
from jaxgpu_tune.values import jsonable

ROOT = Path(__file__).resolve().parent.parent
STEPS, WARM, WINDOWS = 11, 20, 5
LONGEST = 25
"""So many rows of kernels are told, those first that take most of a step."""


def main() -> int:
    """Trace each variant in a process of its own; exit code 1 if one fails."""
    given = arguments()
    if given.child:
        print("\x01" + json.dumps(traced(given.workload, given.size)))
        return 0
    if given.platform == "cuda" and not jaxgpu_tune.detect().gpus:
        raise SystemExit("No NVIDIA GPU can be used here; --platform cpu traces tiny sizes on the CPU.")
    found = {variant: in_child(given, variant) for variant in given.variants}
    failed = {variant: one for variant, one in found.items() if "error" in one}
    for variant, one in failed.items():
        print(f"failed: {given.workload} {variant}: {cause(one)}", file=sys.stderr)
    if failed:
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{given.workload}-trace.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"written: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step_trace", description=(__doc__ or "").split("\n")[0])
    presets = [preset.name for preset in jaxgpu_tune.presets()]
    parser.add_argument("workload", choices=list(WORKLOADS), metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument(
        "--variants",
        nargs="+",
        default=[DEFAULT],
        choices=[DEFAULT, *presets],
        metavar="NAME",
        help="default, or presets",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--size", choices=["tiny", "full"], help="by default full on GPUs, tiny without")
    parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--devices", type=int, default=2, help="of the CPU")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.size = given.size or ("tiny" if given.platform == "cpu" else "full")
    return given


def in_child(given: argparse.Namespace, name: str) -> dict[str, Any]:
    """What one variant's process told, and its settings."""
    base = bare_environ() | {"PYTHONPATH": str(ROOT)}
    if given.platform == "cpu":
        base |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(given.devices)}
    variant = Variant(name, None if name == DEFAULT else name)
    command = [sys.executable, "-m", "benchmarks.step_trace", given.workload, "--child", "--size", given.size]
    done = subprocess.run(command, env=environ_of(variant, base), cwd=ROOT, capture_output=True, text=True, check=False)
    result = told_in(done.stdout) or {"error": done.stderr[-1500:]}
    return {"settings": settings_of(variant, base), **result}


def traced(name: str, size_name: str) -> dict[str, Any]:
    """Milliseconds a step in windows without the profiler; then what each device ran under it."""
    import jax

    workload = WORKLOADS[name]
    module, options = workload.loaded(), dict(workload.options)
    devices = jax.devices()[: 1 if workload.devices == "one" else None]
    size = module.size_of(size_name, len(devices), **options)
    step, state, batch = module.build(devices, size, **options)

    def steps(number: int) -> float:
        nonlocal state
        begun = time.perf_counter()
        for _ in range(number):
            state, loss = step(state, batch)
        jax.block_until_ready(loss)
        return 1e3 * (time.perf_counter() - begun) / number

    warm = 1 if size_name == "tiny" else WARM
    steps(warm)
    times = [steps(warm) for _ in range(WINDOWS)]
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            steps(STEPS)
        found = reduce_trace(read_trace(trace_files(folder)[-1]))
    return {
        "size": size._asdict(),
        "jax": jax.__version__,
        "step_ms": times,
        "devices": {gpu.gpu: told(gpu) for gpu in found.gpus},
    }


def told(gpu: GpuStep) -> dict[str, Any]:
    """A mean step of one GPU; of its kernels those that take most."""
    return {**jsonable(gpu._replace(kernels=gpu.kernels[:LONGEST])), "edges": len(gpu.edges)}


if __name__ == "__main__":
    sys.exit(main())
