"""``profile`` on programs that know nothing of it: the FSDP table from outside, and programs of people's libraries with CUDA graphs.

python -m benchmarks.own_profiles [--out DIR] [--only NAME ...] [--tiny]

Each case is what `jaxgpu-tune profile` does; the program is ended once it is traced. Its JSON and its text go to DIR as soon as
they are there, and the first trace of each of ``KEPT``, gzipped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import jaxgpu_tune
from benchmarks.step_parts import kept
from benchmarks.variants import DEFAULT, Variant, bare_environ, environ_of
from jaxgpu_tune.measure.profiling import profile_command
from jaxgpu_tune.measure.runs import Asked, Limits

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("ppo", "ode", "mcmc")


class Case(NamedTuple):
    """Words after ``python -m``; the preset that is in force (None: JAX's defaults); whether to run again without CUDA graphs."""

    program: tuple[str, ...]
    preset: str | None = None
    names: bool = False


CASES = {
    "last": Case(("benchmarks.loop", "fsdp_comm")),
    "last-fsdp": Case(("benchmarks.loop", "fsdp_comm"), "fsdp"),
    "first": Case(("benchmarks.loop", "fsdp_first")),
    "first-fsdp": Case(("benchmarks.loop", "fsdp_first"), "fsdp"),
    "ppo": Case(("benchmarks.programs.ppo", "--steps", "1000000"), names=True),
    "ode": Case(("benchmarks.programs.ode", "--steps", "1000000"), names=True),
    "mcmc": Case(("benchmarks.programs.mcmc", "--steps", "1000000")),
}


def main() -> int:
    """Run every case; exit code 1 if one has no step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results"))
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seconds", type=float, default=3.0, help="of steady state in each run")
    parser.add_argument("--tiny", action="store_true", help="small programs, to try this script on a CPU")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = {name: profiled(name, given) for name in given.only}
    path = given.out / "own-profiles.json"
    path.write_text(json.dumps({"machine": jaxgpu_tune.detect().to_dict(), "cases": found}, indent=1) + "\n")
    return int(any(one["step_ms"] is None for one in found.values()))


def profiled(name: str, given: argparse.Namespace) -> dict[str, object]:
    """What the profile of one case told."""
    case, begun = CASES[name], time.monotonic()
    command = [sys.executable, "-m", *case.program, *(("--size", "tiny") if given.tiny else ())]
    environ = environ_of(Variant(case.preset or DEFAULT, case.preset), bare_environ() | {"PYTHONPATH": str(ROOT)})
    asked = Asked(seconds=given.seconds, trace={"steps": 6})
    with tempfile.TemporaryDirectory() as folder:
        profile, outcome = profile_command(
            command, folder, asked=asked, limits=Limits(timeout=120.0), names=case.names, environ=environ
        )
        if name in KEPT:
            for trace in sorted(Path(folder).glob("run/observed/process-*/trace.xplane.pb"))[:1]:
                kept(trace, given.out / f"own-{name}.xplane.pb.gz")
    text = f"== {name}: {' '.join(case.program)} {case.preset or ''} ({outcome.status}, {time.monotonic() - begun:.0f} s)\n{profile}\n"
    print(text, flush=True)
    return {
        "preset": case.preset,
        "wall_seconds": time.monotonic() - begun,
        **profile.to_dict(),
        "command": case.program,
    }


if __name__ == "__main__":
    sys.exit(main())
