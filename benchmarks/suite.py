"""Measure every workload with no settings and with what is compared, each run in its own process, pairs in turns.

    python -m benchmarks.suite [--budget-seconds 480] [--only ppo fsdp_first] [--share 2] [--platform cpu --devices 2]

Runs are ordered by worth and written after each one; started again, it goes on where it was. What needs one GPU runs on all of
them side by side, what needs several on as many shares of ``--share`` GPUs. ``python -m benchmarks.tables`` makes tables and plots.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.arguments import arguments
from benchmarks.child import Child, Place, given_up, result_of, start
from benchmarks.jobs import Job, Phase, distinct, failed, in_order, lanes, pending, phases
from benchmarks.kept import Kept
from benchmarks.told import cause
from benchmarks.variants import DEFAULT, bare_environ
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.render.waiting import waiting

ROOT = Path(__file__).resolve().parent.parent
EXPECTED, GRACE = 20.0, 10.0
"""Seconds that the first run is taken to need, and that the last one may take beyond the budget."""


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
            given_up(suite.children)
    failed = [run for run in suite.kept.results["runs"] if "error" in run]
    for run in failed:
        print(f"failed: {run['workload']} {run['variant']}: {cause(run)}", file=sys.stderr)
    if failed:
        print(f"a failed run is not tried again, unless it is taken out of {suite.kept.path}", file=sys.stderr)
    return 1 if failed else 0


class Suite:
    """What is asked for, what is kept so far, and the time that is left."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.given = given
        self.folder = folder
        self.began = time.monotonic()
        self.children: list[Child] = []
        self.stopped = False
        self.gpus = self._gpus()
        facts = jaxgpu_tune.detect().to_dict()
        for gpu in facts["gpus"]:
            gpu.pop("free_bytes", None)
        self.kept = Kept(given.out / f"suite-{given.name or named(len(self.gpus))}.json", given.size, facts)

    def _gpus(self) -> list[str]:
        if self.given.platform == "cpu":
            return [str(number) for number in range(self.given.devices)]
        gpus = jaxgpu_tune.detect().gpus
        if not gpus:
            raise SystemExit("No NVIDIA GPU can be used here; --platform cpu measures tiny sizes on the CPU.")
        return [gpu.uuid or str(gpu.index) for gpu in gpus]

    def run(self) -> None:
        """One phase after the other; in each, the lanes side by side."""
        left = self._jobs()
        if not left:
            print(f"all of it is in {self.kept.path}")
        with waiting(f"measuring, {len(left)} runs in all", prints=True):
            for phase in phases(left):
                self._run_phase(phase)
        if still := self._pending(left):
            print(f"stopped by the budget, {len(still)} of {len(left)} runs left", flush=True)

    def _run_phase(self, phase: Phase) -> None:
        places = self._places(phase.one_gpu)
        queues = lanes(phase.jobs, len(places))
        with ThreadPoolExecutor(len(places)) as pool:
            lanes_done = [pool.submit(self._run_lane, *one) for one in zip(places, queues, strict=True)]
            try:
                for done in lanes_done:
                    done.result()
            except BaseException:
                self._stop()
                raise

    def _stop(self) -> None:
        """Let no lane go on."""
        self.stopped = True
        given_up(self.children)

    def _places(self, one_gpu: bool) -> list[Place]:
        size = 1 if one_gpu else min(self.given.share or len(self.gpus), len(self.gpus))
        starts = range(0, len(self.gpus) - size + 1, size)
        return [Place(number, tuple(self.gpus[first : first + size])) for number, first in enumerate(starts)]

    def _run_lane(self, place: Place, jobs: list[Job]) -> None:
        """In order; the next one's process imports JAX while this one's is timed."""
        expected, waiting = EXPECTED, self._started(jobs[:1], place)
        for number, _ in enumerate(jobs):
            if self._spent() + expected > self.given.budget_seconds:
                given_up(waiting)
                return
            begun, child = time.monotonic(), waiting[0]
            if (child.job.workload, child.job.variant.name) in failed(self.kept.results["runs"]):
                given_up(waiting)  # one of its kind has failed while this one waited
                waiting = self._started(jobs[number + 1 : number + 2], place)
                continue
            child.let_go()
            waiting = self._started(jobs[number + 1 : number + 2], place)
            limit = min(self.given.timeout, self.given.budget_seconds - self._spent() + GRACE)
            found = result_of(child, limit)
            if not self.stopped:
                self._keep(child, found)
            expected = time.monotonic() - begun
            if self.stopped:
                given_up(waiting)
                return

    def _spent(self) -> float:
        return time.monotonic() - self.began

    def _jobs(self) -> list[Job]:
        variants, wanted = {}, self.given.variants
        for name in self.given.only:
            found, self.kept.same[name] = distinct(WORKLOADS[name], self._base(self._places(_on_one(name))[0]))
            variants[name] = [one for one in found if not wanted or one.name == DEFAULT or one.name in wanted]
        return self._pending(in_order(variants, self.given.rounds))

    def _pending(self, jobs: Iterable[Job]) -> list[Job]:
        """Those without a result of processes that began with these flags."""
        begun_alike = [run for run in self.kept.results["runs"] if run.get("flags", "") == self.given.flags]
        return pending(jobs, begun_alike, self.kept.machine())

    def _base(self, place: Place) -> dict[str, str]:
        """The environment of a process on these GPUs, without any setting."""
        base = bare_environ() | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ",".join(place.gpus)}
        base |= {"XLA_FLAGS": self.given.flags} if self.given.flags else {}
        cpu = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(len(place.gpus))}
        return base | (cpu if self.given.platform == "cpu" else {})

    def _started(self, jobs: list[Job], place: Place) -> list[Child]:
        """The process of the one job, or none."""
        asked = {"size": self.given.size, "seconds": self.given.seconds}
        made = [start(job, place, self._base(place), asked, self.folder) for job in jobs]
        self.children += made
        return made

    def _keep(self, child: Child, found: dict[str, Any]) -> None:
        job = child.job
        run = {"workload": job.workload, "variant": job.variant.name, "turn": job.turn, "round": job.round}
        run |= {"gpus": len(child.place.gpus), "lane": child.place.number, "flags": self.given.flags}
        self.kept.add({**run, "settings": dict(child.settings), **found})
        print(f"{self._spent():6.1f} s  {described({**run, **found})}", flush=True)


def _on_one(workload: str) -> bool:
    return WORKLOADS[workload].devices == "one"


def named(devices: int) -> str:
    """Such as h200x2-0.11.2."""
    machine = jaxgpu_tune.detect()
    name = machine.gpus[0].name or "gpu" if machine.gpus else "cpu"
    return f"{name.removeprefix('NVIDIA ').split()[0].lower()}x{devices}-{machine.jaxlib}"


def described(run: dict[str, Any]) -> str:
    """One line for the screen."""
    name = f"{run['workload']}, {run['variant']}, pair {run['round'] + 1}"
    if "error" in run:
        return f"{name}: {cause(run)}"
    median = sorted(run["step_ms"])[len(run["step_ms"]) // 2]
    return (
        f"{name}: {median:.3f} ms, start {run['start_seconds']:.1f} s, compilation {run['compile_seconds']:.1f} s, "
        f"loss {run['losses'][-1]:.5f}"
    )


if __name__ == "__main__":
    sys.exit(main())
