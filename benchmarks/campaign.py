"""What campaign.toml lists for this number of GPUs, one command after the other, in order of worth, while there is time.

    python -m benchmarks.campaign [--seconds 540] [--only two-queue …] [--out DIR] [--dry --gpus 8]

The suite's results that are in the repository are taken along, so that it goes on where it was. After each command all results
are packed into DIR/campaign.tgz. ``--dry`` runs the lines small, on the CPU, as on a machine with ``--gpus`` GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jaxgpu_tune
from benchmarks.absent_gpus import machine
from benchmarks.arguments import positive
from jaxgpu_tune.knowledge.tables import read_toml
from jaxgpu_tune.measure.stopping import end_all

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
LINES = Path(__file__).with_suffix(".toml")
PYTHON = (sys.executable, "-m")
MARK, SHARE, GRACE = "JAXGPU_TUNE_CAMPAIGN", 0.5, 15.0
"""A variable that all processes of a command carry; the share of its seconds that must be left for it; seconds to end in."""


class Line(NamedTuple):
    """As campaign.toml says."""

    name: str
    gpus: tuple[int, ...]
    seconds: float
    run: str
    dry: str
    planned: bool = False

    def command(self, dry: bool, **values: Any) -> list[str]:
        """What is typed."""
        return shlex.split(f"{self.run} {self.dry if dry else ''}".format(**values))


def main() -> int:
    """Run what there is time for; exit code 1 if a command failed."""
    given = arguments()
    begun, failed, left = time.monotonic(), [], [line.name for line in given.lines]
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        results = Path(place)
        for file in () if given.dry else RESULTS.glob("suite-*.json"):
            shutil.copy(file, results)
        for line in given.lines:
            rest = given.seconds - (time.monotonic() - begun)
            if rest < SHARE * line.seconds:
                continue
            left.remove(line.name)
            failed += [line.name] * (run(line, given, results, min(rest, line.seconds)) != 0)
            with tarfile.open(given.out / "campaign.tgz", "w:gz") as packed:
                packed.add(results, "campaign")
    print(f"failed: {' '.join(failed) or 'none'}; no time for: {' '.join(left) or 'none'}", flush=True)
    return int(bool(failed))


def arguments() -> argparse.Namespace:
    """What the command line asks for, with its lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=positive(float), default=540, help="for all of them")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="lines of campaign.toml, in their order")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results"))
    parser.add_argument("--gpus", type=positive(int), help="by default those that are here")
    parser.add_argument("--dry", action="store_true", help="small, on the CPU")
    given = parser.parse_args()
    given.gpus = given.gpus or len(jaxgpu_tune.detect().gpus or ())
    fits = [line for line in lines() if given.gpus in line.gpus]
    if unknown := set(given.only or ()) - {line.name for line in fits}:
        names = ", ".join(line.name for line in fits) or "none"
        parser.error(f"no line of {given.gpus} GPUs is called {', '.join(sorted(unknown))}. There are: {names}")
    given.lines = [line for line in fits if not given.only or line.name in given.only]
    return given


def lines() -> list[Line]:
    """All of campaign.toml."""
    return [Line(**{**line, "gpus": tuple(line["gpus"])}) for line in read_toml(LINES)["line"]]


def run(line: Line, given: argparse.Namespace, results: Path, seconds: float) -> int:
    """The exit code of a command; it and all that it started are ended when its time is over."""
    words = line.command(given.dry, left=int(seconds), out=results, gpus=given.gpus)
    print(f"== {line.name}: {' '.join(words)}", flush=True)
    mark, begun = {MARK: str(results / line.name)}, time.monotonic()
    environ = {**os.environ, **mark, **(dry_environ(line, given.gpus, results) if given.dry else {})}
    child = subprocess.Popen([*PYTHON, *words], cwd=ROOT, env=environ, start_new_session=True)
    try:
        child.wait(seconds + GRACE)
    except subprocess.TimeoutExpired:
        print(f"ended, {line.name} has had its {seconds + GRACE:.0f} s", flush=True)
    finally:
        end_all(child, mark, GRACE)
    print(f"== {line.name}: {time.monotonic() - begun:.0f} s, exit code {child.returncode}", flush=True)
    return child.returncode


def dry_environ(line: Line, gpus: int, results: Path) -> dict[str, str]:
    """Host devices in place of GPUs; where the line plans for GPUs, these are H200s, with what is installed here."""
    cpu = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(gpus)}
    if not line.planned:
        return cpu
    file = results / "machine.json"
    file.write_text(json.dumps(machine(gpus)))
    return {**cpu, "JAXGPU_TUNE_MACHINE": str(file)}


if __name__ == "__main__":
    sys.exit(main())
