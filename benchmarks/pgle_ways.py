"""Every way of profile-guided latency estimation on one workload: no settings, a preset, the preset with each way, in turns.

python -m benchmarks.pgle_ways --out DIR [--parts record measure] [--rounds 2] [--arms …] [--platform cpu]

``record`` makes the profiles and the cache (once; they are kept in DIR), ``measure`` runs the arms, each in a process
of its own. Writes pgle-ways.json (raw times, what XLA said, machine and versions) after each run, so that what was
measured is never lost.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import jaxgpu_tune
from benchmarks.told import told_in
from benchmarks.variants import bare_environ
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.runs import Asked, Limits, run_watched
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile

ROOT = Path(__file__).resolve().parent.parent
PAGE = {
    "xla_gpu_disable_async_collectives": "allreduce,allgather,reducescatter,collectivebroadcast,alltoall,collectivepermute",
    "xla_gpu_enable_latency_hiding_scheduler": False,
    "xla_gpu_enable_analytical_sol_latency_estimator": False,
    "xla_gpu_enable_command_buffer": "",
}
"""The settings of NVIDIA's page, with both parts of the scheduler off and kernels that have names."""
CONVERT = """
import sys
from jax._src.lib import _profiler
open(sys.argv[2], "wb").write(_profiler.get_fdo_profile(open(sys.argv[1], "rb").read()))
"""
WARM, EACH = 4, 10
"""Tens of steps that are not timed: compilation, AutoPGLE's three profiled runs and its second compilation."""
WORDS = ("PGLE", "pgle", "from the profile")
LONG = 60.0
"""Seconds that a program which is recorded may go on; it is ended once enough was seen."""
ARMS = ("default", "preset", "automatic", "cached", "traced", "page", "nsys")


class Ways:
    """The runs of one command line."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.path = given.out / "pgle-ways.json"
        self.found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.began = time.monotonic()
        self.base = bare_environ() | {"PYTHONPATH": str(ROOT)}
        if given.platform == "cpu":
            self.base |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}

    def write(self) -> None:
        """After every run."""
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")

    def program(self, seconds: float) -> list[str]:
        """The command of a process that trains and tells its times."""
        job = [self.given.workload, self.given.size, seconds]
        return [sys.executable, "-m", "benchmarks.pgle_ways", "--child", json.dumps(job)]

    def tool(self, *words: str) -> list[str]:
        """A command of ``jaxgpu-tune pgle``."""
        return [sys.executable, "-m", "jaxgpu_tune", "pgle", *words]

    def run(self, command: list[str], environ: Mapping[str, str] | None = None) -> dict[str, Any]:
        """How it ended, how long it took, what it measured, and what was said of profiles."""
        begun = time.monotonic()
        child = subprocess.Popen(
            command,
            env={**self.base, **(environ or {})},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = child.communicate(timeout=self.given.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # what a command started goes with it
            output, errors = child.communicate()
        words = [line for line in errors.splitlines() if any(word in line for word in WORDS)]
        result = {"exit": child.returncode, "seconds": time.monotonic() - begun, "words": words[-40:]}
        return {**result, **(told_in(output) or {}), **({"error": errors[-2000:]} if child.returncode else {})}

    def planned(self, preset: str, **arguments: Any) -> dict[str, str]:
        """The environment of a preset."""
        return jaxgpu_tune.environ(preset, base=self.base, **arguments)

    def record(self) -> None:
        """The cache, and the profiles: by this library's way, and by the page's with JAX's converter."""
        out, found = self.given.out, self.found.setdefault("recorded", {})
        preset = ["--preset", self.given.preset]
        for name, words in (
            ("cached", ["record", *preset, "--store", str(out / "store"), "--json", "--"]),
            (
                "traced",
                ["record", *preset, "--to", str(out / "traced.pbtxt"), "--traces", str(out / "traces"), "--json", "--"],
            ),
        ):
            if name in self.given.arms:
                found[name] = self.run(
                    [*self.tool(*words), *self.program(self.given.seconds if name == "cached" else LONG)]
                )
                self.write()
        if "page" in self.given.arms:
            found["page"] = self.by_the_page(out)
        if "nsys" in self.given.arms and shutil.which("nsys"):
            found["nsys"] = self.by_nsys(out)
        if self.given.platform == "cpu":  # nothing of the CPU is in a trace: a stand-in, so that the rest is tried
            for name in ("traced", "page", "nsys"):
                write_profile(CostProfile((Cost("fusion", 1.0),)), out / f"{name}.pbtxt")
        self.write()

    def by_the_page(self, out: Path) -> dict[str, Any]:
        """What a person gets who follows NVIDIA's page with JAX's profiler and converter."""
        environ = self.planned(self.given.preset, flags=PAGE)
        asked = Asked(trace={"steps": 5, "options": {"enable_hlo_proto": True}})
        limits = Limits(timeout=self.given.timeout)
        outcome = run_watched(self.program(LONG), folder=out / "page", environ=environ, asked=asked, limits=limits)
        traces = [process.trace for process in outcome.processes if process.trace]
        if not traces:
            return {"exit": 1, "cause": outcome.cause or outcome.silent}
        done = self.run([sys.executable, "-c", CONVERT, traces[0], str(out / "page.pb")], {"JAX_PLATFORMS": "cpu"})
        return {**done, "seconds_a_step": outcome.seconds_a_step}

    def by_nsys(self, out: Path) -> dict[str, Any]:
        """Nsight Systems, its export, and this library's converter; names by the program that the trace holds."""
        environ = self.planned(self.given.preset, flags={**PAGE, "xla_gpu_enable_latency_hiding_scheduler": True})
        report = out / "nsys"
        words = ["nsys", "profile", "--trace=cuda,nvtx", "--force-overwrite=true", "-o", str(report)]
        profiled = self.run([*words, *self.program(1.0)], environ)
        self.run(["nsys", "export", "--type", "sqlite", "-o", f"{report}.sqlite", f"{report}.nsys-rep"])
        return {
            **profiled,
            "converted": self.run(self.tool("convert", f"{report}.sqlite", "--to", str(out / "nsys.pbtxt"))),
        }

    def measure(self) -> None:
        """The arms in turns, every other round backwards, until the budget is spent."""
        runs, done = self.found.setdefault("runs", []), 0.0
        for number in range(self.given.rounds):
            arms = [arm for arm in ARMS if arm in self.given.arms]
            for arm in arms if number % 2 == 0 else arms[::-1]:
                if time.monotonic() - self.began + done > self.given.budget_seconds:
                    print(f"budget spent before {arm} of round {number + 1}")
                    return
                command = self.command(arm)
                if command is None:
                    continue
                result = self.run(*command)
                done = max(done, result["seconds"])
                runs.append({"arm": arm, "round": number + 1, **result})
                self.write()
                print(f"{arm:10} {_ms(result)}", flush=True)

    def command(self, arm: str) -> tuple[list[str], dict[str, str]] | None:
        """The command of an arm and its environment; None if what it needs was not recorded."""
        plain = self.program(self.given.seconds)
        cache = {
            "JAX_COMPILATION_CACHE_DIR": str(self.given.out / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        if arm == "default":
            return plain, cache
        if arm in ("preset", "automatic"):
            more: dict[str, Any] = {"pgle": "auto"} if arm == "automatic" else {}
            return plain, {**self.planned(self.given.preset, **more), **({} if more else cache)}
        preset = ["--preset", self.given.preset]
        if arm == "cached":
            store = self.given.out / "store"
            return ([*self.tool("use", *preset, "--store", str(store), "--"), *plain], {}) if store.exists() else None
        files = [file for file in (self.given.out / f"{arm}.pbtxt", self.given.out / f"{arm}.pb") if file.exists()]
        return ([*self.tool("use", str(files[0]), *preset, "--"), *plain], cache) if files else None

    def facts(self) -> dict[str, Any]:
        """The machine, the arguments, and each profile in numbers."""
        given = {name: str(value) if isinstance(value, Path) else value for name, value in vars(self.given).items()}
        profiles = {}
        for file in sorted(self.given.out.glob("*.pb*")):
            if file.suffix in (".pb", ".pbtxt"):
                done = subprocess.run(
                    self.tool("inspect", str(file), "--json"), cwd=ROOT, capture_output=True, text=True, check=False
                )
                profiles[file.name] = json.loads(done.stdout) if done.stdout else done.stderr
        return {"machine": jaxgpu_tune.detect().to_dict(), "arguments": given, "profiles": profiles}


def train(name: str, size_name: str, seconds: float) -> dict[str, Any]:
    """One loop, as people write it.

    The loss is read every ten steps. Milliseconds a step of each ten, once it is warm.
    """
    import jax

    devices = WORKLOADS[name].taken(jax.devices())
    size, step, state, batch = WORKLOADS[name].built(size_name, devices)
    times: list[float] = []
    loss: Any = 0.0
    value = 0.0
    last = time.perf_counter()
    while len(times) <= WARM or sum(times[WARM:]) < seconds:
        for _ in range(EACH):
            state, loss = step(state, batch)
        value, now = float(loss), time.perf_counter()
        times.append(now - last)
        last = now
    facts = {"jax": jax.__version__, "device": f"{len(devices)} x {devices[0].device_kind}", "loss": value}
    first = sum(times[:WARM])
    return {
        **facts,
        "size": size._asdict(),
        "first_seconds": first,
        "step_ms": [1e3 * one / EACH for one in times[WARM:]],
    }


def _ms(result: Mapping[str, Any]) -> str:
    return (
        f"{median(result['step_ms']):8.2f} ms" if result.get("step_ms") else f"failed: {result.get('error', '')[-300:]}"
    )


def medians(runs: list[Mapping[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """(arm, median ms a step over its processes, times as fast as the preset)."""
    times = {arm: [median(run["step_ms"]) for run in runs if run["arm"] == arm and run.get("step_ms")] for arm in ARMS}
    preset = median(times["preset"]) if times["preset"] else float("nan")
    for arm, found in times.items():
        if found:
            yield arm, median(found), preset / median(found)


def main() -> int:
    """Exit code 1 if a run failed."""
    given = arguments()
    if given.child:
        print("\x01" + json.dumps(train(*json.loads(given.child))))
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    ways = Ways(given)
    parts: dict[str, Callable[[], None]] = {"record": ways.record, "measure": ways.measure}
    for part in given.parts:
        parts[part]()
    ways.found |= ways.facts()
    ways.write()
    for arm, ms, ratio in medians(ways.found.get("runs", [])):
        print(f"{arm:10} {ms:8.2f} ms  {ratio:.3f} of the preset's speed")
    failed = [one for one in (*ways.found.get("recorded", {}).values(), *ways.found.get("runs", [])) if one.get("exit")]
    return 1 if failed and given.platform == "cuda" else 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pgle_ways", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "pgle-ways")))
    parser.add_argument("--parts", nargs="+", choices=["record", "measure"], default=["record", "measure"])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--workload", choices=list(WORKLOADS), default="fsdp_comm", metavar="WORKLOAD")
    parser.add_argument("--preset", default="fsdp")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="timed in each process, after warming up")
    parser.add_argument("--budget-seconds", type=float, default=540, help="no run is begun that would end later")
    parser.add_argument("--timeout", type=float, default=150, help="seconds after which a run is given up")
    parser.add_argument("--size", choices=["tiny", "full"])
    parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.size = given.size or ("tiny" if given.platform == "cpu" else "full")
    given.out = given.out.absolute()
    return given


if __name__ == "__main__":
    sys.exit(main())
