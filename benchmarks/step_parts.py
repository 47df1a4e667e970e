"""Where each millisecond of a step goes, as JSON, and traces to keep: FSDP with weights cut along their last or their first dimension, and any workload.

python -m benchmarks.step_parts [--out DIR] [--platform cpu --devices 2] [--only NAME ...] [--again DIR]

A name is one of ``CASES``, or a workload, alone or with a preset: ``--only decode stencil:reproducible``.
Each case runs in a process of its own: windows without the tracer first, then a few steps under it. The trace is kept beside
the result, gzipped, so that it can be read again elsewhere (``--again``); the small ones serve as what the tests read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jaxgpu_tune
from benchmarks.told import cause, told_by
from benchmarks.variants import DEFAULT, Variant, bare_environ, environ_of, settings_of
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.trace.reduction import GpuStep, reduce_trace
from jaxgpu_tune.measure.trace.trace_file import read_trace
from jaxgpu_tune.values import jsonable

ROOT = Path(__file__).resolve().parent.parent
WARM, WINDOW, WINDOWS = 20, 20, 10
PRESETS = tuple(preset.name for preset in jaxgpu_tune.presets())
LONGEST = 12
"""So many rows of kernels are kept, those first that take most of a step."""


class Case(NamedTuple):
    """A workload under a preset (None: JAX's defaults); ``steps`` are traced; ``smaller`` replaces parts of the size."""

    workload: str
    preset: str | None = None
    steps: int = 6
    smaller: tuple[tuple[str, int], ...] = ()


CASES = {
    "last": Case("fsdp_comm"),
    "last-fsdp": Case("fsdp_comm", "fsdp"),
    "first": Case("fsdp_first"),
    "first-fsdp": Case("fsdp_first", "fsdp"),
    "small-fsdp": Case("fsdp_comm", steps=3, smaller=(("layers", 3),)),
    "graphs": Case("rl_scan", steps=3),
    "decode": Case("decode", steps=3),
}
"""Four for the table, then what the tests keep."""


def named(name: str) -> str:
    """The name of a case; an error if it is none."""
    workload, _, preset = name.partition(":")
    if name not in CASES and not (workload in WORKLOADS and preset in ("", *PRESETS)):
        allowed = (
            f"{', '.join(CASES)}; or WORKLOAD or WORKLOAD:PRESET, of {', '.join(WORKLOADS)} and {', '.join(PRESETS)}"
        )
        raise argparse.ArgumentTypeError(f"no such case: {name!r}. There are {allowed}")
    return name


def case_of(name: str) -> Case:
    """One of ``CASES``, or a workload, with a preset behind a colon."""
    workload, _, preset = name.partition(":")
    return CASES.get(name) or Case(workload, preset or None)


def main() -> int:
    """Run every case; exit code 1 if one fails."""
    given = arguments()
    if given.child:
        print("\x01" + json.dumps(traced(case_of(given.child), given)))
        return 0
    if given.again is None and given.platform == "cuda" and not jaxgpu_tune.detect().gpus:
        raise SystemExit("No NVIDIA GPU can be used here; --platform cpu traces tiny sizes on the CPU.")
    given.out.mkdir(parents=True, exist_ok=True)
    told = measured(given) if given.again is None else json.loads((given.again / "step-parts.json").read_text())
    found = {name: one | parts(given.again or given.out, name) for name, one in told["cases"].items()}
    told = {**told, "cases": found}
    path = given.out / "step-parts.json"
    path.write_text(json.dumps(told, indent=1) + "\n")
    failed = {name: one for name, one in found.items() if "error" in one}
    for name, one in failed.items():
        print(f"failed: {name}: {cause(one)}\n{one['error']}", file=sys.stderr)
    print(f"written: {path.name}")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step_parts", description=(__doc__ or "").split("\n")[0])
    default = os.environ.get("OUT") or ROOT / "benchmarks" / "results"
    parser.add_argument("--out", type=Path, default=Path(default))
    parser.add_argument("--only", nargs="+", default=list(CASES), type=named, metavar="NAME")
    parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--devices", type=int, default=2, help="of the CPU")
    parser.add_argument("--again", type=Path, help="a folder of an earlier run, whose traces are only read again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """The machine, and what each case's process told."""
    cases = {name: in_child(given, name) for name in given.only}
    return {"machine": jaxgpu_tune.detect().to_dict(), "cases": cases}


def parts(folder: Path, name: str) -> dict[str, Any]:
    """Where a mean step of each GPU goes, from the trace of a case."""
    path = folder / f"{name}.xplane.pb.gz"
    if not path.exists():
        return {}
    return {"gpus": {gpu.gpu: told_of(gpu) for gpu in reduce_trace(read_trace(path)).gpus}}


def told_of(gpu: GpuStep) -> dict[str, Any]:
    """A mean step of one GPU, without what only a drawing needs."""
    short = gpu._replace(
        collectives=tuple(one._replace(ops=one.ops[:2]) for one in gpu.collectives), kernels=gpu.kernels[:LONGEST]
    )
    return {name: value for name, value in jsonable(short).items() if name != "edges"}


def in_child(given: argparse.Namespace, name: str) -> dict[str, Any]:
    """What one case's process told, and its settings."""
    workload, preset = case_of(name)[:2]
    base = bare_environ()
    if given.platform == "cpu":
        base |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(given.devices)}
    variant = Variant(preset or DEFAULT, preset)
    asked = ["--child", name, "--platform", given.platform, "--out", str(given.out)]
    told = told_by(["-m", "benchmarks.step_parts", *asked], environ_of(variant, base))
    return {"workload": workload, "settings": settings_of(variant, base), **told}


def traced(one: Case, given: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds a step in windows without the tracer, and under it; the trace lies in ``--out``."""
    import jax

    tiny = given.platform == "cpu"
    workload = WORKLOADS[one.workload]
    _, step, state, batch = workload.built("tiny" if tiny else "full", jax.devices(), **dict(one.smaller))

    def steps(number: int) -> float:
        nonlocal state
        begun = time.perf_counter()
        for _ in range(number):
            state, loss = step(state, batch)
        jax.block_until_ready(loss)
        return 1e3 * (time.perf_counter() - begun) / number

    steps(1 if tiny else WARM)
    times = [steps(1 if tiny else WINDOW) for _ in range(WINDOWS)]
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level, options.host_tracer_level = 0, 2
        jax.profiler.start_trace(folder, profiler_options=options)
        under = steps(one.steps)
        jax.profiler.stop_trace()
        kept(next(Path(folder).rglob("*.xplane.pb")), given.out / f"{given.child}.xplane.pb.gz")
    return {"step_ms": times, "traced_ms": under, "jax": jax.__version__, "device": jax.devices()[0].device_kind}


def kept(trace: Path, path: Path) -> None:
    """The trace, gzipped so that equal traces make equal files, and without this machine's path: another of its length takes its place."""
    here = str(ROOT).encode()
    path.write_bytes(gzip.compress(trace.read_bytes().replace(here, b"/".ljust(len(here), b"_")), 9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
