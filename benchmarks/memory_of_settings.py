"""What each setting of a preset costs in memory: the program compiled with the preset, and without one of its settings at a time, as JSON.

    python -m benchmarks.memory_of_settings [--only fsdp_first data_parallel] [--out DIR]

No GPU is needed: jax's CUDA plugin compiles for H200 that are not there, where NVIDIA's wheels of the toolkit are installed beside it
(jax-cuda13-pjrt, jax-cuda13-plugin, nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-nvrtc). What is told is XLA's own plan of the memory
that a step takes beside its arguments on one GPU; kernels are not chosen by timing, so that it may differ a little from that of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.absent_gpus import GPU, MISSING, machine, toolkit
from benchmarks.told import told_by
from benchmarks.variants import bare_environ
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
CASES = {
    "fsdp_first": ("fsdp", 2),
    "fsdp_comm": ("fsdp", 2),
    "fsdp_compute": ("fsdp", 2),
    "data_parallel": ("data_parallel", 2),
    "pipeline": ("pipeline_parallel", 2),
    "decode": ("decode", 2),
    "rl_scan": ("simulation", 1),
    "stencil": ("simulation", 1),
}
"""The workload -> the preset that is for it, and the number of GPUs."""
CHILD = """
import json, sys
from benchmarks.absent_gpus import devices
from benchmarks.workloads import WORKLOADS

name, count, size = json.loads(sys.argv[1])
_, step, state, batch = WORKLOADS[name].built(size, devices(count))
memory = step.lower(state, batch).compile().memory_analysis()
print("\\x01" + json.dumps({"temporary_bytes": memory.temp_size_in_bytes, "argument_bytes": memory.argument_size_in_bytes}))
"""


def main() -> int:
    """Compile what is asked for, print a line each, write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--size", choices=("full", "tiny"), default="full")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args()
    if toolkit() is None:
        raise SystemExit(f"Nothing can be compiled for GPUs that are not there: {MISSING}.")
    given.out.mkdir(parents=True, exist_ok=True)
    release = jaxgpu_tune.detect().jaxlib
    path = given.out / f"memory-of-settings-{release}.json"
    same = {"jaxlib": release, "gpu": GPU["name"], "size": given.size}
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept = before["cases"] if before and same.items() <= before.items() else {}
    cases = kept | {name: measured(name, given.size) for name in given.only}
    path.write_text(json.dumps({**same, "cases": cases}, indent=1) + "\n", encoding="utf-8")
    return 0


def measured(name: str, size: str) -> dict[str, Any]:
    """Without settings, with the preset, and with the preset but for each of its flags."""
    preset, count = CASES[name]
    flags = flags_of(preset, count)
    ways = {"default": (), "preset": flags} | {
        f"without {flag}": tuple(one for one in flags if one is not flag) for flag in flags
    }
    found = {}
    for way, these in ways.items():
        found[way] = {"flags": list(these), **compiled(name, count, size, these)}
        print(f"{name}, {way}: {found[way]['temporary_bytes'] / 2**20:.0f} MiB", flush=True)
    return {"preset": preset, "gpus": count, "workload": WORKLOADS[name].title, "ways": found}


def costs_text(folder: Path) -> str:
    """What ``explain`` says of the memory of presets and their settings, one a line."""
    told = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("memory-of-settings-*.json"))]
    costs = (cost for one in told for case in one["cases"].values() for cost in _costs(case, one["gpu"], one["jaxlib"]))
    return "[\n" + ",\n".join(map(json.dumps, costs)) + "\n]\n"


def _costs(case: dict[str, Any], gpu: str, jaxlib: str) -> Iterator[dict[str, object]]:
    taken = {way: found["temporary_bytes"] for way, found in case["ways"].items()}
    without = {case["preset"]: taken["default"]} | {
        way.removeprefix("without --").partition("=")[0]: taken[way] for way in taken if way.startswith("without --")
    }
    for name, size in without.items():
        place = {"gpu": gpu, "count": case["gpus"], "jaxlib": jaxlib}
        more = {"more_bytes": taken["preset"] - size, "without_bytes": size}
        yield {"name": name, "preset": case["preset"], "workload": case["workload"], **place, **more}


def flags_of(preset: str, count: int) -> tuple[str, ...]:
    """What the preset sets on so many H200 with the installed jaxlib."""
    environ = jaxgpu_tune.environ(preset, base={}, machine=machine(count))
    return tuple(environ.get("XLA_FLAGS", "").split())


def compiled(name: str, count: int, size: str, flags: tuple[str, ...]) -> dict[str, int]:
    """The memory of one device, in bytes."""
    environ = bare_environ() | {"JAX_PLATFORMS": "cpu"}
    environ["XLA_FLAGS"] = " ".join((f"--xla_gpu_cuda_data_dir={toolkit()}", "--xla_gpu_autotune_level=0", *flags))
    told = told_by(["-c", CHILD, json.dumps([name, count, size])], environ)
    if "error" in told:
        raise SystemExit(f"{name} was not compiled: {told['error']}")
    return told


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
