"""``tune``, ``bisect`` and ``compare`` as they are typed, on programs of people's libraries; what they print and every run are kept.

    python -m benchmarks.tune_programs [--only ppo ode …] [--budget 4m] [--out DIR] [--in-process] [--side-by-side] [--tiny]

``--in-process``: by ``tune(step, …)`` in one process, where the case is a search on one of benchmarks.programs.
``--side-by-side``: cases for one GPU run at the same time, each on a GPU of its own, with what is left for the others after them.
Reports (JSON) and pages go to DIR as soon as they are there, and ``tune-programs.json`` tells of all of them; the runs stay in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import jaxgpu_tune
from benchmarks.variants import bare_environ

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("--steps", "1000000")
TEN_FLAGS = (
    "--xla_gpu_all_gather_combine_threshold_bytes=134217728 "
    "--xla_gpu_all_reduce_combine_threshold_bytes=134217728 "
    "--xla_gpu_reduce_scatter_combine_threshold_bytes=67108864 "
    "--xla_gpu_enable_highest_priority_async_stream=true "
    "--xla_gpu_enable_latency_hiding_scheduler=true "
    "--xla_gpu_pipeline_all_gather=on "
    "--xla_gpu_pipeline_all_reduce=on "
    "--xla_gpu_enable_while_loop_double_buffering=true "
    "--xla_disable_hlo_passes=rematerialization "
    "--xla_gpu_enable_command_buffer="
)
"""As DreamerV3 sets them; on a program of many small kernels one of them costs more than all the others."""
PERMUTES = "--xla_gpu_enable_pipelined_p2p=true --xla_gpu_collective_permute_decomposer_threshold=1024"
"""Together they keep XLA from compiling a pipeline of stages that sends around a ring; either alone changes nothing."""


class Case(NamedTuple):
    """A command of this library ("call": ``tune(step)`` in one process), the program, options (or variants), and how many GPUs it takes (None: all)."""

    command: str
    program: tuple[str, ...]
    options: tuple[str, ...] = ()
    gpus: int | None = 1


def _program(name: str) -> tuple[str, ...]:
    return (f"benchmarks.programs.{name}", *STEPS)


CASES = {
    "ppo": Case("tune", _program("ppo")),
    "ode": Case("tune", _program("ode"), ("--kind", "loops", "--kind", "small-kernels")),
    "ppo-again": Case("tune", _program("ppo")),
    "ode-again": Case("tune", _program("ode"), ("--kind", "loops", "--kind", "small-kernels")),
    "convnet": Case("tune", _program("convnet"), ("--kind", "convolutions")),
    "fsdp": Case("tune", ("benchmarks.loop", "fsdp_comm"), ("--kind", "collectives"), None),
    "data-parallel": Case("tune", ("benchmarks.loop", "data_parallel"), ("--kind", "collectives"), None),
    "ppo-call": Case("call", ("ppo",)),
    "ode-call": Case("call", ("ode",)),
    "slow-flag": Case("bisect", _program("ppo"), ("--flags", TEN_FLAGS, "--slower", "20%")),
    "crashing-pair": Case(
        "bisect", ("benchmarks.loop", "pipeline", *STEPS), ("--flags", f"{TEN_FLAGS} {PERMUTES}", "--fails"), None
    ),
    "compare-fsdp": Case("compare", ("benchmarks.loop", "fsdp_comm"), ("none", "fsdp"), None),
    "compare-ppo": Case("compare", _program("ppo"), ("none", "simulation")),
    "compare-ode": Case("compare", _program("ode"), ("none", "simulation", "while_loop")),
    "compare-mcmc": Case("compare", _program("mcmc"), ("none", "while_loop")),
}
"""In order of worth."""


def main() -> int:
    """Run the cases; exit code 1 if one ended in an error."""
    given = _arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    gpus = [gpu.uuid or str(gpu.index) for gpu in jaxgpu_tune.detect().gpus or ()]
    found: dict[str, Any] = {}
    for names in _batches(given.only, max(1, len(gpus)) if given.side_by_side else 1):
        free: Queue[str] = Queue()
        for gpu in gpus:
            free.put(gpu)
        with ThreadPoolExecutor(max(1, len(names))) as pool:
            told = pool.map(lambda name, free=free: run(name, given, gpus, free), names)
            found |= dict(zip(names, told, strict=True))
        machine = jaxgpu_tune.detect().to_dict()
        text = json.dumps({"machine": machine, "budget": given.budget, "cases": found}, indent=1)
        (given.out / f"{given.name}.json").write_text(text + "\n")
    return int(any(one["status"] not in (0, 1) for one in found.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results"))
    parser.add_argument("--name", default="tune-programs")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--budget", default="4m", help="of each tune and compare")
    parser.add_argument("--seconds", default="1.5", help="of steady state in each run")
    parser.add_argument(
        "--in-process", action="store_true", help="by tune(step), each candidate compiled with its own options"
    )
    parser.add_argument("--side-by-side", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="small programs, to try this script on a CPU")
    return parser.parse_args()


def _batches(names: list[str], at_once: int) -> list[list[str]]:
    """Cases for one GPU together, as many as there are GPUs; the others alone."""
    single = [name for name in names if CASES[name].gpus == 1]
    several = [[name] for name in names if CASES[name].gpus != 1]
    return [*(single[place : place + at_once] for place in range(0, len(single), at_once)), *several]


def run(name: str, given: argparse.Namespace, gpus: list[str], free: Queue[str]) -> dict[str, Any]:
    """One case, as it is typed; its report and page are kept whatever became of it."""
    case, begun = _in_process(CASES[name]) if given.in_process else CASES[name], time.monotonic()
    mine = [free.get()] if gpus and case.gpus == 1 else gpus
    environ = bare_environ() | {"PYTHONPATH": str(ROOT)} | ({"CUDA_VISIBLE_DEVICES": ",".join(mine)} if mine else {})
    always = [
        f"{name}={environ.pop(name)}" for name in ("NCCL_NVLS_ENABLE",) if name in environ
    ]  # "clean" keeps it, too
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        words = [*_words(case, folder, given, always), *(("--size", "tiny") if given.tiny else ())]
        done = subprocess.run(
            [sys.executable, "-m", *words],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        for file in (*folder.glob("*.toml"), *folder.glob("*.html")):
            (given.out / f"{given.name}-{name}{file.suffix}").write_bytes(file.read_bytes())
    if mine and case.gpus == 1:
        free.put(mine[0])
    print(
        f"== {name}: {time.monotonic() - begun:.0f} s, exit code {done.returncode}\n{done.stderr[-6000:]}", flush=True
    )
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stdout + done.stderr}
    print(report.get("answer") or report.get("error") or _verdicts(report), flush=True)
    return {"command": words, "status": done.returncode, "seconds": time.monotonic() - begun, "report": report}


def _verdicts(compared: dict[str, Any]) -> str:
    return "; ".join(f"{one['name']}: {one['sentence']}" for one in compared.get("variants", ()))


def _in_process(case: Case) -> Case:
    """The same search by ``tune(step)``, where the program is one that can be called."""
    package, _, name = case.program[0].rpartition(".")
    return Case("call", (name,)) if case.command == "tune" and package == "benchmarks.programs" else case


def _words(case: Case, folder: Path, given: argparse.Namespace, always: list[str]) -> list[str]:
    """After ``python -m``."""
    out = str(folder / "tuned.toml")
    if case.command == "call":
        return ["benchmarks.tune_call", *case.program, "--budget", given.budget, "--out", out]
    limit = ["--budget", given.budget]
    where = {"tune": [*limit, "--out", out], "bisect": ["--folder", str(folder / "runs")], "compare": limit}
    options = ["--seconds", given.seconds, "--json", *case.options]
    program = ["--", "env", *always, sys.executable, "-m", *case.program]
    return ["jaxgpu_tune", case.command, *where[case.command], *options, *program]


if __name__ == "__main__":
    sys.exit(main())
