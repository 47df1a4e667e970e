"""What verify() reads back for every preset, each in a process of its own, and for programs that go wrong on purpose.

``presets``: configure(preset), one tiny step over all GPUs, verify(); presets that turn NVLink multicast (NVLS) on are left out.
``cases``: memory settings held against what the allocator states, variables as people get them wrong (as they are, jaxlib runs on
the CPU), XLA_FLAGS changed between the two times that it is parsed, and NCCL's own log. Writes one JSON file to the folder given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.told import told_by

ROOT = Path(__file__).resolve().parent.parent
CHILD = """
import json, os, sys, time
import jaxgpu_tune
report = jaxgpu_tune.configure({preset!r}, **{arguments!r})
import jax, jax.numpy as jnp
{between}
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(jax.devices(), ("all",))
value = jax.device_put(jnp.ones((8 * len(jax.devices()), 256)), NamedSharding(mesh, PartitionSpec("all")))
total = float(jax.jit(lambda x: (x @ x.T).sum())(value))
started = time.perf_counter()
found = jaxgpu_tune.verify()
seconds = time.perf_counter() - started
print("\\x01" + json.dumps({{**found.to_dict(), "seconds": seconds, "total": total, "xla_flags": report.xla_flags,
    "memory": [d.memory_stats() for d in jax.local_devices()]}}))
"""
OLD, NEW = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
QUIET = {PREALLOCATE: "false", "NCCL_NVLS_ENABLE": "0"}
SWAP = "jax.devices(); os.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=3'"
BOTH = {"xla_gpu_autotune_level": 2, "xla_gpu_nccl_termination_timeout_seconds": 77}
CASES: dict[str, dict[str, Any]] = {
    "fraction 0.4": {"arguments": {"memory_fraction": 0.4}},
    "fraction auto": {"arguments": {"memory_fraction": "auto"}},
    "fraction 0.3, not preallocated": {"arguments": {"memory_fraction": 0.3, "preallocate": False}},
    "two processes a GPU": {"arguments": {"processes_per_gpu": 2}},
    "allocator platform": {"arguments": {"allocator": "platform"}},
    "allocator cuda_async": {"arguments": {"allocator": "cuda_async", "memory_fraction": 0.3}},
    "damaged: a percentage": {"environ": {OLD: "75%"}},
    "damaged: both names": {"environ": {OLD: "0.5", NEW: "0.6"}},
    "damaged: an empty allocator": {"environ": {ALLOCATOR: ""}},
    "damaged: the name once advised": {"environ": {ALLOCATOR: "cuda_malloc_async"}},
    "damaged: preallocation off as people write it": {"environ": {PREALLOCATE: "off"}},
    "process-wide and per-compile flags": {"arguments": {"flags": BOTH}},
    "XLA_FLAGS changed once the plugin has read it": {
        "arguments": {"flags": BOTH, "platform": "cuda"},
        "between": SWAP,
    },
    "set too late": {
        "between": "jax.devices(); report = jaxgpu_tune.configure(flags={'xla_gpu_autotune_level': 2}, late='warn')"
    },
    "NCCL tells": {"arguments": {"env": {"NCCL_DEBUG": "INFO", "NCCL_PROTO": "LL128", "NCCL_LL_BUFFSIZE": "131072"}}},
}


def main() -> int:
    """Run both stages; exit code 1 if a child failed."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    names = [p.name for p in jaxgpu_tune.presets() if not any("NVLS" in s.name for s in p.settings)]
    with ThreadPoolExecutor(given.at_once) as pool:
        presets = dict(zip(names, pool.map(lambda name: child(preset=name, environ=QUIET), names), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: case(one, folder) for name, one in CASES.items()}
    path = given.out / f"verify-presets-{given.name}.json"
    machine = jaxgpu_tune.detect().to_dict()
    path.write_text(json.dumps({"machine": machine, "presets": presets, "cases": cases}, indent=1) + "\n")
    for name, one in {**presets, **cases}.items():
        print(line(name, one), flush=True)
    return int(any("error" in one for one in (*presets.values(), *cases.values())))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="cpu", help="of the machine, for the file's name")
    parser.add_argument("--at-once", type=int, default=2, help="presets at the same time")
    return parser.parse_args()


def case(one: dict[str, Any], folder: str) -> dict[str, Any]:
    """One of CASES; NCCL writes to a file, which is looked at only if NCCL_DEBUG asks for it."""
    log = {"NCCL_DEBUG_FILE": f"{folder}/nccl.%h.%p", "NCCL_NVLS_ENABLE": "0"}
    return child(**{"preset": "single_gpu", **one, "environ": log | one.get("environ", {})})


def child(
    preset: str, environ: dict[str, str], arguments: dict[str, Any] | None = None, between: str = ""
) -> dict[str, Any]:
    """What one process told; ``error`` holds the end of its stderr if it failed."""
    code = CHILD.format(preset=preset, arguments=arguments or {}, between=between)
    started = time.perf_counter()
    told = told_by(["-c", code], {**os.environ, **environ}, 120)
    return {**told, "wall_seconds": time.perf_counter() - started}


def line(name: str, one: dict[str, Any]) -> str:
    """Counts by status, and each setting that did not prove effective with why."""
    if "error" in one:
        return f"{name}: {one['error'][-400:]}"
    counts: dict[str, int] = {}
    for item in one["items"]:
        counts[item["status"]] = counts.get(item["status"], 0) + 1
    head = f"{name}: {'ok' if one['ok'] else 'not ok'} on {one['devices']} x {one['platform']}, {counts}, {one['seconds']:.2f} s"
    rest = [f"    {i['name']}={i['value']} {i['status']}: {i['why']} [{i['found']}]" for i in one["items"]]
    return "\n".join([head, *(text for text in rest if " effective: " not in text)])


if __name__ == "__main__":
    sys.exit(main())
