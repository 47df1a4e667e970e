"""Run the stages one after the other: python -m benchmarks.allreduce --out DIR [--stages correct decode ...] [--seconds 500] [--backend ffi] [--fence].

Each stage runs in a process of its own, and the results are written when it ends, with the cards, the driver and the versions.
Without GPUs the stages run on ``--devices`` host devices, through lax.psum, at small sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.ports import free_port
from benchmarks.told import told_in, without_root

ROOT = Path(__file__).resolve().parents[2]
TRUTH, PAIRS = ("correct", "stress", "dead"), ("together", "left_alone")
SPEED = ("latency", "cutover", "rows", "trace", "decode")
STAGES = (*TRUTH, *SPEED, *PAIRS)


def run_stage(stage: str, seconds: float, environ: dict[str, str], devices: int) -> dict[str, Any]:
    """What a stage found, or how it ended, in a process of its own; for those of ``PAIRS`` in two, each with half of the devices."""
    if stage not in PAIRS:
        return ended(started([stage], environ), seconds)
    port, each = str(free_port()), str(devices // 2)
    children = [started([stage, str(rank), port, each], {**environ, "JAX_NUM_CPU_DEVICES": each}) for rank in range(2)]
    return {"ranks": [ended(child, seconds) for child in children]}


def started(arguments: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    """A child that runs one stage."""
    command = [sys.executable, "-m", "benchmarks.allreduce", "--stage", *arguments]
    return subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(child: subprocess.Popen[str], seconds: float) -> dict[str, Any]:
    """What a child told, and how it ended if not well; it is killed after ``seconds``."""
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        err += f"\nended after {seconds:.0f} s"
    problem = (
        {}
        if child.returncode == 0
        else {"status": child.returncode, "stderr": without_root(err)[-3000:], "stdout": without_root(out)[-2000:]}
    )
    return {**problem, "found": told_in(out)}


def in_child(stage: str, rank: str = "0", port: str = "0", each: str = "1") -> None:
    """One stage, in this process; what it found goes to the parent."""
    if stage in PAIRS:
        from . import member

        found = getattr(member, stage)(int(rank), port, int(each))
    else:
        from . import common, speed, truth

        b = common.bench()
        result = getattr(truth if stage in TRUTH else speed, stage)(b)
        found = {"comm": b.comm.explain(), "result": result}
    print("\x01" + json.dumps(found), flush=True)
    sys.stdout.flush()
    os._exit(0)  # after a kernel's error, or a peer's death, nothing can be closed in order


def main() -> None:
    """Run the stages while there is time; write the results after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="allreduce")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--seconds", type=float, default=500, help="for all stages together")
    parser.add_argument("--backend", choices=("ptx", "ffi"), default="ptx", help="of AllReduce")
    parser.add_argument("--fence", action="store_true", help="of AllReduce")
    parser.add_argument("--devices", type=int, default=2, help="of the CPU, where there are no GPUs")
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        return in_child(*given.stage)
    import jaxgpu_tune

    machine = jaxgpu_tune.detect().to_dict()
    options = {"backend": given.backend, "fence": given.fence}
    flags = os.environ.get("XLA_FLAGS", "")
    environ = {**os.environ, "JAXGPU_TUNE": "off", "ALLREDUCE_OPTIONS": json.dumps(options)}
    if not machine["gpus"]:
        environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(given.devices)}
    devices = len(machine["gpus"]) or given.devices
    begin, results = time.monotonic(), {"machine": machine, "options": options, "flags": flags}
    given.out.mkdir(parents=True, exist_ok=True)
    for stage in given.stages:
        left = given.seconds - (time.monotonic() - begin)
        if left > 20:
            results[stage] = {**run_stage(stage, left, environ, devices), "seconds": time.monotonic() - begin}
            (given.out / f"{given.name}.json").write_text(json.dumps(results, indent=1) + "\n")
            print(stage, json.dumps(results[stage])[:6000], flush=True)
    return None


if __name__ == "__main__":
    main()
