"""Whole processes with random environments, with and without configure(): whether they live, and whether any flag is lost in silence.

    python -m benchmarks.process_fuzz --python v0435/bin/python --python v0112/bin/python --cases 40 --seed 1 --out process_fuzz.json

Each interpreter has a jax of its own; this library is taken from here. A case is an XLA_FLAGS of flags of all releases with good and
bad values, whole or damaged, and other variables. A child calls configure(), imports jax and asks for its devices; another does so
without configure(). Writes one JSON object: for each jaxlib how many processes lived, and every one that died or lost a flag.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.xla_flags.grammar import quote
from tools.read_flags.texts import random_text

__all__ = ["Case", "cases", "lost", "main", "ran"]

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
HIDDEN = ("XLA_", "JAX", "TF_", "NCCL_", "CUDA_", "LIBTPU", "TPU_", "PYTHON")
PLAIN = """
import jax
print("\\x01" + str(len(jax.devices())))
"""
MENDED = """
import json, logging
logging.disable(logging.CRITICAL)
import jaxgpu_tune
report = jaxgpu_tune.configure("auto", probe=False)
import jax
found = [f"{one.message} {one.hint}" for one in report.findings]
print("\\x01" + json.dumps({"flags": report.xla_flags, "findings": found, "devices": len(jax.devices())}))
"""
NOT_FLAGS = (
    "xla_typo",
    "xla_gpu_autotune_levle",
    "xla_tpu_enable_async_collective_fusion",
    "xla_gpu_enable_everything",
)
DAMAGE = ("none", "none", "none", "em dash", "wrapped", "stray word", "comma", "backslash", "no value")
VARIABLES: dict[str, tuple[str, ...]] = {
    "XLA_PYTHON_CLIENT_MEM_FRACTION": ("0.9", "75%", ".95", "2"),
    "XLA_PYTHON_CLIENT_PREALLOCATE": ("false", "FALSE", "no"),
    "XLA_PYTHON_CLIENT_ALLOCATOR": ("platform", "cuda_malloc_async", "none"),
    "JAX_ENABLE_X64": ("1", "maybe", '"true"'),
    "JAX_PLATFORMS": ("cpu", '"cpu"', "CPU", "cpu\r"),
    "JAX_TRACEBACK_FILTERING": ("off", "offf"),
    "JAX_TRANSFER_GUARD": ("log", "strict"),
    "JAX_COMPILATION_CACHE_MAX_SIZE": ("1000", "1GB"),
    "NCCL_NVLS_ENABLE": ("1", "true"),
}

Case = dict[str, Any]
"""``environ``: what is set; ``names``: the flags that were meant in XLA_FLAGS."""


def cases(count: int, seed: int) -> list[Case]:
    """Random environments, the same for the same seed."""
    random = Random(seed)  # noqa: S311 - texts, not secrets
    return [_case(random) for _ in range(count)]


def _case(random: Random) -> Case:
    named = [_flag(random) for _ in range(random.randint(1, 6))]
    text = _damaged([text for _, text in named], random)
    others = {n: random.choice(values) for n, values in VARIABLES.items() if random.random() < 0.15}
    return {"environ": {**others, "XLA_FLAGS": text}, "names": sorted({name for name, _ in named})}


def _flag(random: Random) -> tuple[str, str]:
    if random.random() < 0.1:
        name = random.choice(NOT_FLAGS)
        return name, f"--{name}={random.choice(('true', '3'))}"
    release = random.choice(known.releases())
    spec = known.flag(random.choice([*known.flags(release)]), release)
    assert spec is not None
    if spec.name == "xla_force_host_platform_device_count":
        return spec.name, f"--{spec.name}={random.choice(('2', '4', '0'))}"
    good = random.random() < 0.6
    return spec.name, quote(spec.name, (spec.effective or spec.default) if good else random_text(spec, random))


def _damaged(texts: list[str], random: Random) -> str:
    kind, at = random.choice(DAMAGE), random.randrange(len(texts))
    if kind == "em dash":
        texts[at] = texts[at].replace("--", "\u2014", 1)
    if kind == "no value":
        texts[at] = texts[at].partition("=")[0]
    if kind == "stray word":
        texts.insert(at, "intra_op_parallelism_threads=1")
    text = {"comma": ", ", "backslash": " \\\n "}.get(kind, " ").join(texts)
    return f'"{text}"' if kind == "wrapped" else text


def ran(python: str, code: str, environ: dict[str, str]) -> tuple[int, str, str]:
    """How a process ended, what it told, and the end of what it said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code],
        env={**kept, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    told = [line[1:] for line in done.stdout.splitlines() if line.startswith("\x01")]
    return done.returncode, told[-1] if told else "", done.stderr[-400:]


def lost(names: list[str], told: dict[str, Any]) -> list[str]:
    """The flags that are neither in the final XLA_FLAGS nor named by a finding."""
    findings = " ".join(told["findings"])
    return [name for name in names if f"--{name}" not in told["flags"] and name not in findings]


def main() -> int:
    """Try every case with each interpreter; exit code 1 if a configured process died or lost a flag in silence."""
    args = _arguments()
    tried = cases(args.cases, args.seed)
    found = {_version(python): _of_release(python, tried) for python in args.python or [sys.executable]}
    for version, result in found.items():
        print(version, {key: value for key, value in result.items() if key != "wrong"})
        for wrong in result["wrong"]:
            print("   ", wrong)
    if args.out:
        Path(args.out).write_text(
            json.dumps({"cases": args.cases, "seed": args.seed, "jaxlib": found}, indent=1) + "\n"
        )
    return int(any(result["wrong"] for result in found.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.process_fuzz", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--python", action="append", help="an interpreter with a jax; may be given several times")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="the JSON file to write")
    return parser.parse_args()


def _version(python: str) -> str:
    code = "import jaxlib.version; print('\\x01' + jaxlib.version.__version__)"
    return ran(python, code, {})[1]


def _of_release(python: str, tried: list[Case]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "processes": len(tried),
        "live_without": 0,
        "live_with": 0,
        "with_findings": 0,
        "wrong": [],
    }
    for case in tried:
        result["live_without"] += ran(python, PLAIN, case["environ"])[0] == 0
        status, text, said = ran(python, MENDED, case["environ"])
        told = json.loads(text) if text else None
        result["live_with"] += told is not None and status == 0
        result["with_findings"] += bool(told and told["findings"])
        silent = lost(case["names"], told) if told else []
        if status or told is None or silent:
            result["wrong"].append({**case, "status": status, "said": said if status else "", "lost": silent})
    return result


if __name__ == "__main__":
    sys.exit(main())
