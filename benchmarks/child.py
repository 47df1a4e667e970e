"""The process of one job: started ahead of its turn, let go, waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.jobs import Job
from benchmarks.told import told_in, without_root
from benchmarks.variants import environ_of, settings_of
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
COMPILATIONS = 2
"""Of each variant on one machine: kernels are chosen by timing, so that another compilation may be faster or slower."""


class Place(NamedTuple):
    """The GPUs of a lane, and its number."""

    number: int
    gpus: tuple[str, ...]


class Child(NamedTuple):
    """A started process that waits for its turn; ``said`` holds its stdout and stderr."""

    job: Job
    process: subprocess.Popen[str]
    said: Path
    place: Place
    settings: Mapping[str, str | None]

    def let_go(self) -> None:
        """Let it touch the GPUs."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.close()
        except BrokenPipeError:
            return  # it has ended already; its status tells why


def start(job: Job, place: Place, base: Mapping[str, str], asked: Mapping[str, Any], folder: Path) -> Child:
    """It imports JAX and waits."""
    workload = WORKLOADS[job.workload]
    kept = folder / "kept" / f"{job.workload}, {job.variant.name}"
    kept.mkdir(parents=True, exist_ok=True)
    environ = environ_of(job.variant, base, str(kept))
    if workload.until == "steps" and "JAX_ENABLE_PGLE" not in environ:  # AutoPGLE must not find what was compiled
        environ |= {
            "JAX_COMPILATION_CACHE_DIR": str(folder / f"compiled-{job.round % COMPILATIONS}"),
            "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
    asked = {
        **asked,
        "workload": job.workload,
        "processes": len(place.gpus) if job.variant.processes != "one for all" else 1,
    }
    said = Path(tempfile.mkdtemp(dir=folder))
    with (said / "out").open("w") as out, (said / "err").open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.measure", json.dumps(asked)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            text=True,
            cwd=ROOT,
            start_new_session=True,  # so that what it starts can be ended with it
        )
    return Child(job, process, said, place, settings_of(job.variant, base))


def result_of(child: Child, limit: float) -> dict[str, Any]:
    """What it told, waited for at most ``limit`` seconds; an "error" if it did not end well."""
    try:
        status: int | str = child.process.wait(limit if limit < float("inf") else None)
    except subprocess.TimeoutExpired:
        given_up([child])
        status = f"none, given up after {limit:.0f} s"
    told = told_in((child.said / "out").read_text())
    if status == 0 and told is not None:
        return dict(told)
    return {"error": f"status {status}: {without_root((child.said / 'err').read_text())[-1500:]}"}


def given_up(children: list[Child]) -> None:
    """End those that have not ended, and what they started."""
    for child in children:
        if child.process.poll() is None:
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
