"""Whether the memory settings are honoured: the pool's limit against the GPU's memory, each case in processes of its own.

``cases``: configured by the library. ``damaged``: variables as people get them wrong, once as they are (jaxlib then runs on
the CPU) and once through the library. Writes one JSON file to the folder given, with card, driver and versions.

    python -m benchmarks.memory_fraction --out DIR --name h200x1
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any

import jaxgpu_tune

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
TOLERANCE = 0.01
"""Of the GPU's memory."""
USUAL, SECONDS = 0.75, 90
CHILD = """
import ctypes, json, os, sys
arguments = {arguments!r}
told = {{}}
if arguments is not None:
    import jaxgpu_tune
    report = jaxgpu_tune.configure("auto", **arguments)
    told["reasons"] = {{d.name: d.reason for d in report.decisions if "CLIENT" in d.name}}
    told["findings"] = [f.code for f in report.findings]
told["environ"] = {{name: text for name, text in os.environ.items() if "XLA_" in name and "CLIENT" in name}}
import jax, jax.numpy as jnp
device = jax.local_devices()[0]
jnp.ones((256, 256)).sum().block_until_ready()
told |= {{"jax": jax.__version__, "platform": device.platform, "card": device.device_kind, "stats": device.memory_stats()}}
if device.platform != "cpu":
    total = ctypes.c_size_t()
    if ctypes.CDLL("libcuda.so.1").cuDeviceTotalMem_v2(ctypes.byref(total), 0) == 0:
        told["total_cuda"] = total.value
print("\\x01" + json.dumps(told), flush=True)
sys.stdin.read()
"""
CASES: dict[str, dict[str, Any]] = {
    "nothing asked": {},
    "memory_fraction=0.4": {"memory_fraction": 0.4},
    "memory_fraction=0.75": {"memory_fraction": 0.75},
    'memory_fraction="auto"': {"memory_fraction": "auto"},
    "processes_per_gpu=2": {"processes_per_gpu": 2},
    "preallocate=False": {"preallocate": False},
    'allocator="default"': {"allocator": "default", "memory_fraction": 0.5},
    'allocator="bfc"': {"allocator": "bfc", "memory_fraction": 0.5},
    'allocator="cuda_async"': {"allocator": "cuda_async", "memory_fraction": 0.5},
    'allocator="platform"': {"allocator": "platform"},
}
DAMAGED: dict[str, dict[str, str]] = {
    "a percentage": {OLD: "75%"},
    "both names": {OLD: "0.5", NEW: "0.6"},
    "an empty allocator": {ALLOCATOR: ""},
    "the name once advised": {ALLOCATOR: "cuda_malloc_async"},
    "preallocation off as people write it": {PREALLOCATE: "off"},
}


def main() -> int:
    """Run every case on the first GPU; exit code 1 where one is not honoured."""
    given = arguments()
    machine = jaxgpu_tune.detect().to_dict()
    found: dict[str, Any] = {"machine": machine, "tolerance": TOLERANCE, "cases": {}, "damaged": {}}
    for name, asked in CASES.items():
        found["cases"][name] = judged(together({}, asked, asked.get("processes_per_gpu", 1)))
        print(name, json.dumps(found["cases"][name]["verdict"]), flush=True)
        write(given, found)
    for name, environ in DAMAGED.items():
        raw, led = together(environ, None, 1), together(environ, {}, 1)
        found["damaged"][name] = {"set": environ, "raw": raw, "configured": judged(led)}
        print(name, "| as it is:", platforms(raw), "| configured:", platforms(led), flush=True)
        write(given, found)
    verdicts = [one["verdict"]["honoured"] for one in found["cases"].values()]
    verdicts += [one["configured"]["verdict"]["honoured"] for one in found["damaged"].values()]
    return int(not all(verdicts))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="cpu", help="of the machine, for the file's name")
    return parser.parse_args()


def write(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """What is known so far, so that an interrupted run is not lost."""
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"memory-fraction-{given.name}.json").write_text(json.dumps(found, indent=1) + "\n")


def together(environ: Mapping[str, str], asked: dict[str, Any] | None, count: int) -> dict[str, Any]:
    """``count`` processes that hold their memory at the same time: what each told, and what NVML sees in use meanwhile."""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "0", **environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD.format(arguments=asked)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, env=env, **pipes) for _ in range(count)]
    told = [first_word(child) for child in children]
    gpus = jaxgpu_tune.detect().gpus or ()
    used = [(gpu.memory_bytes or 0) - (gpu.free_bytes or 0) for gpu in gpus[:1]]
    for child, one in zip(children, told, strict=True):
        _, said = child.communicate()
        if "platform" not in one:
            one["error"] = f"status {child.returncode}: {said[-1500:]}"
    return {"processes": told, "total_nvml": [gpu.memory_bytes for gpu in gpus[:1]], "used_nvml": used}


def first_word(child: subprocess.Popen[str]) -> dict[str, Any]:
    """The line of a child that has started; empty where it ends without one, or takes too long and is ended."""
    timer = Timer(SECONDS, child.kill)
    timer.start()
    try:
        for line in child.stdout or ():
            if line.startswith("\x01"):
                told: dict[str, Any] = json.loads(line[1:])
                return told
        return {}
    finally:
        timer.cancel()


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """With a verdict: the share that was asked for, the one that the pool has, and whether the setting is honoured."""
    shares = [share(one) for one in found["processes"]]
    first = found["processes"][0]
    environ = first.get("environ", {})
    wanted = float(environ.get(NEW) or environ.get(OLD) or USUAL)
    right = [is_right(one, wanted) for one in found["processes"]]
    return {**found, "verdict": {"wanted": wanted, "found": shares, "honoured": all(right)}}


def share(told: dict[str, Any]) -> float | None:
    """The pool's limit as a fraction of the memory that CUDA sees; None where there is no pool."""
    limit, total = (told.get("stats") or {}).get("bytes_limit"), told.get("total_cuda")
    return round(limit / total, 5) if limit and total else None


def is_right(told: dict[str, Any], wanted: float) -> bool:
    """Whether one process has what its variables say. On the CPU nothing is."""
    environ, stats, found = told.get("environ", {}), told.get("stats") or {}, share(told)
    if told.get("platform") in (None, "cpu"):
        return False
    if environ.get(ALLOCATOR) == "platform":
        return not stats
    grows = environ.get(PREALLOCATE) == "false"
    small = stats.get("pool_bytes", 0) < stats.get("bytes_limit", 0) / 2
    return found is not None and abs(found - wanted) <= TOLERANCE and (small or not grows)


def platforms(found: dict[str, Any]) -> str:
    """Where the processes ran."""
    return ", ".join(one.get("platform", "ended") for one in found["processes"])


if __name__ == "__main__":
    sys.exit(main())
