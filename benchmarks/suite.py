"""Measure every workload with no settings and with each preset, published set and level, each run in its own process.

    python -m benchmarks.suite [--budget-seconds 540] [--only fsdp_comm decode] [--platform cpu --devices 2]

Runs are ordered by worth and written after each one; started again, it goes on where it was. Two may write to one file at a
time, each with other workloads, on other GPUs (CUDA_VISIBLE_DEVICES). ``python -m benchmarks.tables`` makes tables and plots.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jaxgpu_tune
from benchmarks.arguments import arguments
from benchmarks.jobs import Job, batches, distinct, in_order, pending
from benchmarks.outcome import cause, read, without_root
from benchmarks.variants import bare_environ, environ_of, settings_of
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
EXPECTED, GRACE = 20.0, 10.0
"""Seconds that the first run is taken to need, and that the last one may take beyond the budget."""


class Child(NamedTuple):
    """A started process that waits for its turn."""

    job: Job
    process: subprocess.Popen[str]
    told: Path
    said: Path
    gpus: tuple[str, ...]
    settings: Mapping[str, str | None]


def main() -> int:
    """Measure what is left, as long as the budget lasts; exit code 1 if a run failed."""
    given = arguments((__doc__ or "").split("\n")[0])
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(given, Path(folder))
        try:
            suite.run()
        except KeyboardInterrupt:
            print("interrupted; started again, it goes on from here", file=sys.stderr)
            return 130
        finally:
            _given_up(suite.children)
    failed = [run for run in suite.results["runs"] if "error" in run]
    for run in failed:
        print(f"failed: {run['workload']} {run['variant']}: {cause(run)}", file=sys.stderr)
    if failed:
        print(f"a failed run is not tried again, unless it is taken out of {suite.path}", file=sys.stderr)
    return 1 if failed else 0


class Suite:
    """The results so far, the file they are in, and the time that is left."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.given = given
        self.folder = folder
        self.began = time.monotonic()
        self.expected = EXPECTED
        self.children: list[Child] = []
        self.gpus = self._gpus()
        self.path = given.out / f"suite-{given.name or named(len(self.gpus))}.json"
        self.results = self._read()
        self.same: dict[str, dict[str, str]] = {}
        self.facts = jaxgpu_tune.detect().to_dict()
        for gpu in self.facts["gpus"]:
            gpu.pop("free_bytes", None)

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"size": self.given.size, "machines": [], "same": {}, "runs": []}
        results = read(self.path)
        if results["size"] != self.given.size:
            raise SystemExit(f"{self.path} holds results of size {results['size']}, not {self.given.size}: give --name")
        return results

    def _gpus(self) -> list[str]:
        if self.given.platform == "cpu":
            return [str(number) for number in range(self.given.devices)]
        gpus = jaxgpu_tune.detect().gpus
        if not gpus:
            raise SystemExit("No NVIDIA GPU can be used here; --platform cpu measures tiny sizes on the CPU.")
        return [gpu.uuid or str(gpu.index) for gpu in gpus]

    def _machine(self) -> int:
        """The number of this machine among those of the results."""
        known = self.results["machines"]
        if self.facts not in known:
            known.append(self.facts)
        return int(known.index(self.facts))

    def run(self) -> None:
        """All batches in order; the next one's processes import JAX while this one's are timed."""
        left = batches(self._jobs(), len(self.gpus))
        if not left:
            print(f"all of it is in {self.path}")
        waiting = self._started(left[0]) if left else []
        for number, _ in enumerate(left):
            if self._spent() + self.expected > self.given.budget_seconds:
                print(f"stopped by the budget, {len(left) - number} of {len(left)} batches left", flush=True)
                return
            begun = time.monotonic()
            for child in waiting:
                _let_go(child)
            coming = self._started(left[number + 1]) if number + 1 < len(left) else []
            for child in waiting:
                self._keep(child, self._result(child))
            self.expected = time.monotonic() - begun
            waiting = coming

    def _spent(self) -> float:
        return time.monotonic() - self.began

    def _jobs(self) -> list[Job]:
        variants = {}
        for name in self.given.only:
            found, self.same[name] = distinct(WORKLOADS[name], self._base(self._share(name)))
            wanted = self.given.variants
            variants[name] = [one for one in found if not wanted or one.preset is None or one.name in wanted]
        jobs = in_order(variants, self.given.rounds)
        begun_alike = [run for run in self.results["runs"] if run.get("flags", "") == self.given.flags]
        return pending(jobs, begun_alike, self._machine())

    def _share(self, workload: str) -> tuple[str, ...]:
        return tuple(self.gpus[:1] if WORKLOADS[workload].devices == "one" else self.gpus)

    def _base(self, gpus: tuple[str, ...]) -> dict[str, str]:
        """The environment of a process on these GPUs, without any setting."""
        base = (
            bare_environ() | {"PYTHONPATH": str(ROOT)} | ({"XLA_FLAGS": self.given.flags} if self.given.flags else {})
        )
        if self.given.platform == "cpu":
            return base | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(len(gpus))}
        return base | {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}

    def _started(self, batch: list[Job]) -> list[Child]:
        shares = [(self.gpus[place],) if job.one_gpu else tuple(self.gpus) for place, job in enumerate(batch)]
        return [self._start(job, gpus) for job, gpus in zip(batch, shares, strict=True)]

    def _start(self, job: Job, gpus: tuple[str, ...]) -> Child:
        base = self._base(gpus)
        environ, settings = environ_of(job.variant, base), settings_of(job.variant, base)
        if "JAX_ENABLE_PGLE" not in environ:  # compiled once a variant; AutoPGLE would find what it compiled before
            environ |= {
                "JAX_COMPILATION_CACHE_DIR": str(self.folder / "compiled"),
                "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            }
        asked = {
            "workload": job.workload,
            "size": self.given.size,
            "devices": len(self.gpus) if job.alone else None,
            "alone": job.alone,
            "seconds": self.given.seconds,
        }
        command = [sys.executable, "-m", "benchmarks.measure", json.dumps(asked)]
        told, said = (self.folder / f"{len(list(self.folder.iterdir()))}.{name}" for name in ("out", "err"))
        with told.open("w") as out, said.open("w") as err:
            process = subprocess.Popen(
                command, env=environ, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True, cwd=ROOT
            )
        self.children.append(Child(job, process, told, said, gpus, settings))
        return self.children[-1]

    def _result(self, child: Child) -> dict[str, Any]:
        try:
            limit = min(self.given.timeout, self.given.budget_seconds - self._spent() + GRACE)
            status: int | str = child.process.wait(limit if limit < float("inf") else None)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
            status = f"none, given up after {limit:.0f} s"
        lines = [line[1:] for line in child.told.read_text().splitlines() if line.startswith("\x01")]
        if status == 0 and lines:
            return dict(json.loads(lines[-1]))
        return {"error": f"status {status}: {without_root(child.said.read_text())[-1500:]}"}

    @contextmanager
    def _file_alone(self) -> Iterator[None]:
        """While no other suite reads or writes the file."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _keep(self, child: Child, found: dict[str, Any]) -> None:
        """Add the result to the file, which is replaced as a whole."""
        job = child.job
        run = {"workload": job.workload, "variant": job.variant.name, "round": job.round, "alone": job.alone}
        with self._file_alone():
            self.results = self._read()
            run |= {"machine": self._machine(), "gpus": len(child.gpus), "flags": self.given.flags}
            run |= {"settings": dict(child.settings), **found}
            self.results["same"] |= self.same
            self.results["runs"].append(run)
            partial = self.path.with_suffix(".part")
            partial.write_text(json.dumps(self.results, indent=1) + "\n")
            os.replace(partial, self.path)
        print(f"{self._spent():6.1f} s  {described(run)}", flush=True)


def named(devices: int) -> str:
    """Such as h200x2-0.11.2."""
    machine = jaxgpu_tune.detect()
    name = machine.gpus[0].name or "gpu" if machine.gpus else "cpu"
    return f"{name.removeprefix('NVIDIA ').split()[0].lower()}x{devices}-{machine.jaxlib}"


def _let_go(child: Child) -> None:
    assert child.process.stdin is not None
    try:
        child.process.stdin.write("go\n")
        child.process.stdin.close()
    except BrokenPipeError:
        return  # it has ended already; its status tells why


def _given_up(children: list[Child]) -> None:
    for child in children:
        child.process.kill()
        child.process.wait()


def described(run: Mapping[str, Any]) -> str:
    """One line for the screen."""
    name = f"{run['workload']}, {run['variant']}{', alone' if run['alone'] else ''}, round {run['round']}"
    if "error" in run:
        return f"{name}: {cause(run)}"
    median = sorted(run["step_ms"])[len(run["step_ms"]) // 2]
    return (
        f"{name}: {median:.3f} ms, start {run['start_seconds']:.1f} s, compilation {run['compile_seconds']:.1f} s, "
        f"loss {run['losses'][-1]:.5f}"
    )


if __name__ == "__main__":
    sys.exit(main())
