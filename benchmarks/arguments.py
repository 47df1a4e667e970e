"""The suite's command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.tried import DEFAULT
from benchmarks.variants import variants_of
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.statistics import PAIRS

ROOT = Path(__file__).resolve().parent.parent


def arguments(description: str) -> argparse.Namespace:
    """What the command line asks for. Ends the program in words if it makes no sense."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suite", description=description)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", help="of the file; by default the GPUs and the release of jaxlib")
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="by default all; the default is always measured")
    parser.add_argument("--rounds", type=positive(int), default=PAIRS, help="pairs of each variant with the default")
    parser.add_argument("--seconds", type=positive(float), default=1.0, help="timed in each process, after warming up")
    parser.add_argument("--share", type=positive(int), help="GPUs of a workload that takes several; by default all")
    parser.add_argument(
        "--budget-seconds", type=budget, default=float("inf"), help="no run is begun that would end later"
    )
    parser.add_argument("--timeout", type=positive(float), default=100, help="seconds after which a run is given up")
    parser.add_argument("--size", choices=["tiny", "full"], help="by default full on GPUs, tiny without")
    parser.add_argument("--flags", default="", help="XLA_FLAGS that every process begins with, the default's too")
    parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--devices", type=positive(int), default=2, help="of the CPU")
    given = parser.parse_args()
    given.size = given.size or ("tiny" if given.platform == "cpu" else "full")
    names = dict.fromkeys(variant.name for name in given.only for variant in variants_of(WORKLOADS[name]))
    if unknown := [name for name in given.variants or () if name not in names]:
        parser.error(f"no variant of these workloads is called {'; '.join(unknown)}. There are: {'; '.join(names)}")
    if given.variants == [DEFAULT]:
        parser.error(f"--variants {DEFAULT} compares nothing: name what is compared with it, one of {'; '.join(names)}")
    if given.name is not None and Path(given.name).name != given.name:
        parser.error(f"--name {given.name} is no part of a file's name: give letters, digits, dots and dashes")
    if given.out.exists() and not given.out.is_dir():
        parser.error(f"--out {given.out} is a file: give a folder")
    return given


def positive(kind: type[float]) -> Callable[[str], float]:
    """The reader of a finite number above 0."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
        return value

    return number


def budget(text: str) -> float:
    """Seconds, 0 or more."""
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0, or no number")
    return value
