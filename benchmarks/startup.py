"""What ``import jaxgpu_tune`` and ``configure("fsdp")`` cost at the start of a program, against ``import jax``.

Builds a wheel, installs it with jax in a fresh virtual environment, and times each piece of code in fresh processes,
taken in turns, each from its first statement to its last. Then whole processes, from outside: the commands that every
shell and job waits for, against ``python -c pass``. Prints medians, quartiles and the ratios; writes all times as JSON
under benchmarks/results/. Exit code 1 if a ratio is above its limit (5 %, 10 % with a GPU; commands: 5 times).
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
CASES = {
    "import jax": "import jax",
    "import jaxgpu_tune": "import jaxgpu_tune",
    'configure("fsdp")': 'import jaxgpu_tune; jaxgpu_tune.configure("fsdp")',
}
LIMIT, LIMIT_WITH_GPU = 0.05, 0.10
NOTHING = "python -c pass"
COMMANDS = {
    NOTHING: ("-c", "pass"),
    "jaxgpu-tune env fsdp": ("-m", "jaxgpu_tune", "env", "fsdp"),
    "jaxgpu-tune check": ("-m", "jaxgpu_tune", "check", "--xla_gpu_autotune_level=2"),
}
TIMES_NOTHING = 5.0
FACTS = "import json, jaxgpu_tune; print(json.dumps(jaxgpu_tune.detect().to_dict()))"


def main() -> int:
    """Measure, print, write; the exit code."""
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        python = given.python or installed(Path(folder), given.extra, given.jax)
        times = measure(python, given.repeats)
        commands = measure_commands(python, given.repeats)
        machine = json.loads(output(python, FACTS))
    result = {**summary(times, machine), "commands": command_summary(commands)}
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"startup-{given.name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    show(result)
    print(f"written: {path.name}")
    slow = [name for name, ratio in result["commands"]["ratios"].items() if ratio > TIMES_NOTHING]
    return 0 if result["ratio"] <= result["limit"] and not slow else 1


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--extra", default="cpu", help="which JAX: cpu, cuda12 or cuda13")
    parser.add_argument("--jax", default="", help="a release of jax and jaxlib, such as 0.5.1; by default the newest")
    parser.add_argument("--python", type=Path, help="an interpreter that has this package as a wheel already, and jax")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--name", default="cpu", help="of the machine, for the result's file")
    return parser.parse_args()


def installed(folder: Path, extra: str, release: str) -> Path:
    """The interpreter of a fresh environment with this package, installed as a wheel."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
    run(sys.executable, "-m", "venv", str(folder / "venv"))
    python = folder / "venv" / "bin" / "python"
    (wheel,) = folder.glob("jaxgpu_tune-*.whl")
    pinned = [f"jax=={release}", f"jaxlib=={release}"] if release else []
    run(str(python), "-m", "pip", "install", "-q", f"{wheel}[{extra}]", *pinned)
    return python


def measure(python: Path, repeats: int) -> dict[str, list[float]]:
    """Seconds of each case, the cases taken in turns; a first round, which fills the disk's cache, does not count."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(repeats + 1):
        for name, code in CASES.items():
            seconds = float(
                output(python, f"import time; t = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)")
            )
            if turn:
                times[name].append(seconds)
    return times


def measure_commands(python: Path, repeats: int) -> dict[str, list[float]]:
    """Seconds from the start of a process to its end, the commands taken in turns; the first round does not count."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(repeats + 1):
        for name, arguments in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([str(python), *arguments], cwd=python.parent, capture_output=True, check=True)
            if turn:
                times[name].append(time.perf_counter() - start)
    return times


def command_summary(times: dict[str, list[float]]) -> dict[str, Any]:
    """Each command as a multiple of a Python that does nothing, and its times."""
    nothing = statistics.median(times[NOTHING])
    return {
        "ratios": {name: round(statistics.median(values) / nothing, 3) for name, values in times.items()},
        "limit": TIMES_NOTHING,
        "milliseconds": {name: quartiles(values) for name, values in times.items()},
        "seconds": times,
    }


def output(python: Path, code: str) -> str:
    """What a fresh process prints last; it runs where no source of this package lies."""
    done = subprocess.run([str(python), "-c", code], cwd=python.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip().split("\n")[-1]


def run(*command: str) -> None:
    """Run a command to its end; raises CalledProcessError."""
    subprocess.run(command, check=True)


def summary(times: dict[str, list[float]], machine: dict[str, Any]) -> dict[str, Any]:
    """The result as it is written: medians and quartiles in milliseconds, the ratio, and where it was measured."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "ratio": medians['configure("fsdp")'] / medians["import jax"],
        "limit": LIMIT_WITH_GPU if machine["gpus"] else LIMIT,
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
    print(f"{'fresh processes, taken in turns':32} {'25 %':>9} {'median':>9} {'75 %':>9}  ms")
    for name, values in result["milliseconds"].items():
        print(f"{name:32} " + " ".join(f"{value:9.2f}" for value in values))
    for name, values in result["commands"]["milliseconds"].items():
        ratio = result["commands"]["ratios"][name]
        print(
            f"{name:32} " + " ".join(f"{value:9.2f}" for value in values) + f"  {ratio:.2f} x (limit {TIMES_NOTHING:g})"
        )
    print(f"import and configure against import jax: {result['ratio']:.4f} (limit {result['limit']})")


if __name__ == "__main__":
    sys.exit(main())
