"""Where the step of a workload goes, by its trace: what ``python -m benchmarks.step_parts`` kept, as a table and a drawing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.workloads import WORKLOADS

CASES = {"last": "fsdp_comm", "last-fsdp": "fsdp_comm", "first": "fsdp_first", "first-fsdp": "fsdp_first"}
IDLE = ("idle_host", "idle_launches", "idle_peer", "cuda_graphs")
FILE = "fsdp-step.svg"
NAMES = {
    "computing": "computing",
    "copies": "copies and transposes",
    "exposed": "exposed communication",
    "idle": "idle",
}


class Traced(NamedTuple):
    """Milliseconds of a mean step on one GPU. ``untraced``: the step without the tracer; the parts add up to the traced one."""

    title: str
    machine: str
    untraced: float
    step: float
    parts: dict[str, float]
    communicating: float


def read(folder: Path) -> list[Traced]:
    """Of every file of traces in a folder of results."""
    found = []
    for path in sorted(folder.glob("step-parts-*.json")):
        told = json.loads(path.read_text("utf-8"))
        machine = (
            f"{len(told['machine']['gpus'])} x {told['machine']['gpus'][0]['name']}, jaxlib {told['machine']['jaxlib']}"
        )
        found += [
            _traced(told["cases"][name], name, machine) for name in CASES if told["cases"].get(name, {}).get("gpus")
        ]
    return found


def _traced(case: Mapping[str, Any], name: str, machine: str) -> Traced:
    step = next(iter(case["gpus"].values()))
    parts, title = step["parts"], WORKLOADS[CASES[name]].title
    shares = {
        "computing": parts["computing"],
        "copies": parts["copies"],
        "exposed": parts["exposed_communication"],
        "idle": sum(parts[one] for one in IDLE),
    }
    return Traced(
        f"{title}{', preset fsdp' if name.endswith('fsdp') else ', default'}",
        machine,
        median(case["step_ms"]),
        step["step_ms"],
        shares,
        step["communicating_ms"],
    )


def section(traced: list[Traced]) -> Iterator[str]:
    """The part of the page."""
    if not traced:
        return
    yield "## Where a step of FSDP goes\n"
    yield f"By the profiler's trace of one of {traced[0].machine}; `jaxgpu-tune profile -- python train.py` says the same of your program. Every"
    yield "millisecond of the traced step has one owner. Communication is *exposed* where a collective runs and nothing else does.\n"
    yield f"![what a step consists of](images/{FILE})\n"
    yield "| program | step, ms | traced step, ms | computing | copies and transposes | exposed communication | idle | collectives run, hidden or not |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in traced:
        parts = " | ".join(f"{ms:.1f}" for ms in one.parts.values())
        yield f"| {one.title} | {one.untraced:.1f} | {one.step:.1f} | {parts} | {one.communicating:.1f} |"
    yield ""
