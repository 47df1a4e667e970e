"""What ``configure("fsdp")`` adds to the start of a program that imports jax, and what commands cost against ``python -c pass``.

Builds a wheel, installs it with jax in a fresh virtual environment, and runs whole processes in turns. Times are the processor's
(user and system, children included), so that a busy machine changes little. Prints medians, quartiles and the ratios; writes all
times as JSON under benchmarks/results/. Exit code 1 if a ratio is above its limit (5 % of ``import jax``, 8 % with a GPU; commands: 6 times).
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
IMPORT, CONFIGURED, NOTHING = "import jax", 'configure("fsdp"), import jax', "python -c pass"
CASES = {
    NOTHING: ("-c", "pass"),
    IMPORT: ("-c", "import jax"),
    CONFIGURED: ("-c", 'import jaxgpu_tune; jaxgpu_tune.configure("fsdp"); import jax'),
    "jaxgpu-tune env fsdp": ("-m", "jaxgpu_tune", "env", "fsdp"),
    "jaxgpu-tune check": ("-m", "jaxgpu_tune", "check", "--xla_gpu_autotune_level=2"),
}
LIMIT, LIMIT_WITH_GPU = 0.05, 0.08
TIMES_NOTHING = 6.0
FACTS = "import json, jaxgpu_tune; print(json.dumps(jaxgpu_tune.detect().to_dict()))"


def main() -> int:
    """Measure, print, write; the exit code."""
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        python = given.python or installed(Path(folder), given)
        times = measure(python, given.repeats)
        machine = json.loads(output(python, FACTS))
    result = summary(times, machine)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"startup-{given.name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    show(result)
    print(f"written: {path.name}")
    return int(result["added"] > result["limit"] or any(ratio > TIMES_NOTHING for ratio in result["commands"].values()))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--extra", default="cpu", help="which JAX: cpu, cuda12 or cuda13")
    parser.add_argument("--jax", default="", help="a release of jax and jaxlib, such as 0.5.1; by default the newest")
    parser.add_argument("--python", type=Path, help="an interpreter that has this package as a wheel already, and jax")
    parser.add_argument(
        "--wheels", type=Path, help="a folder with this package's wheel; nothing is fetched, jax is the one here"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--name", default="cpu", help="of the machine, for the result's file")
    return parser.parse_args()


def installed(folder: Path, given: argparse.Namespace) -> Path:
    """The interpreter of a fresh environment with this package, installed as a wheel."""
    run(sys.executable, "-m", "venv", str(folder / "venv"))
    python = folder / "venv" / "bin" / "python"
    if given.wheels:
        (packages,) = (folder / "venv").glob("lib/*/site-packages")
        (packages / "here.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    else:
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
    (wheel,) = (given.wheels or folder).glob("jaxgpu_tune-*.whl")
    pinned = [f"jax=={given.jax}", f"jaxlib=={given.jax}"] if given.jax else []
    wanted = ["--no-index", "--no-deps", str(wheel)] if given.wheels else [f"{wheel}[{given.extra}]", *pinned]
    run(str(python), "-m", "pip", "install", "-q", *wanted)
    return python


def measure(python: Path, repeats: int) -> dict[str, list[float]]:
    """Processor seconds of each case, the cases taken in turns; a first round, which fills the disk's cache, does not count."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(repeats + 1):
        for name, code in CASES.items():
            before = processor_seconds()
            subprocess.run([str(python), *code], cwd=python.parent, capture_output=True, check=True)
            if turn:
                times[name].append(processor_seconds() - before)
    return times


def processor_seconds() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def output(python: Path, code: str) -> str:
    """What a fresh process prints last; it runs where no source of this package lies."""
    done = subprocess.run([str(python), "-c", code], cwd=python.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip().split("\n")[-1]


def run(*command: str) -> None:
    """Run a command to its end; raises CalledProcessError."""
    subprocess.run(command, check=True)


def summary(times: dict[str, list[float]], machine: dict[str, Any]) -> dict[str, Any]:
    """The result as it is written: what is ``added`` to ``import jax`` (the median of pairs), commands as multiples of a Python that does nothing."""
    pairs = zip(times[CONFIGURED], times[IMPORT], strict=True)
    nothing = statistics.median(times[NOTHING])
    return {
        "added": statistics.median(mine / other - 1 for mine, other in pairs),
        "limit": LIMIT_WITH_GPU if machine["gpus"] else LIMIT,
        "commands": {n: round(statistics.median(times[n]) / nothing, 3) for n in CASES if n.startswith("jaxgpu-tune")},
        "commands_limit": TIMES_NOTHING,
        "milliseconds": {name: quartiles(values) for name, values in times.items()},
        "seconds": times,
        "python": platform.python_version(),
        "machine": {name: machine[name] for name in ("jax", "jaxlib", "plugins", "driver")}
        | {"gpus": [gpu["name"] for gpu in machine["gpus"] or ()]},
    }


def quartiles(values: list[float]) -> list[float]:
    """Lower quartile, median and upper quartile in milliseconds."""
    return [round(1e3 * value, 3) for value in statistics.quantiles(values, n=4, method="inclusive")]


def show(result: dict[str, Any]) -> None:
    """Print the summary."""
    print(f"{'processor time of whole processes':34} {'25 %':>9} {'median':>9} {'75 %':>9}  ms")
    for name, values in result["milliseconds"].items():
        ratio = f"  {result['commands'][name]:.2f} x (limit {TIMES_NOTHING:g})" if name in result["commands"] else ""
        print(f"{name:34} " + " ".join(f"{value:9.2f}" for value in values) + ratio)
    print(f"configure adds to import jax: {result['added']:.2%} (limit {result['limit']:.0%})")


if __name__ == "__main__":
    sys.exit(main())
