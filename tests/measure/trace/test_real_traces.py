"""Traces of real GPUs (kept by ``benchmarks.step_parts``): what is known of them, and the reduction against a count of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from jaxgpu_tune.measure.assembly import profile_of
from jaxgpu_tune.measure.profile import Watched
from jaxgpu_tune.measure.trace.events import Event, Trace
from jaxgpu_tune.measure.trace.reduction import GpuStep, reduce_trace
from jaxgpu_tune.measure.trace.trace_file import read_trace
from tests.child import ROOT

TRACES = Path(__file__).resolve().parent.parent / "traces"


@cache
def fsdp() -> Trace:
    """Three layers, weights cut along their last dimension, jax 0.11.2, three steps of 7.1 ms."""
    return read_trace(TRACES / "fsdp-h200x2.xplane.pb.gz")


TABLE = {
    "last": (25.7, 9.1, 43.5, 2.1),
    "last-fsdp": (19.5, 2.8, 44.2, 2.0),
    "first": (25.8, 9.1, 40.4, 1.9),
    "first-fsdp": (19.1, 3.4, 40.2, 1.5),
}
"""Measured before, on another machine and by another script: collectives run, exposed, some other kernel runs, idle (ms a step)."""


def union(spans: Iterable[tuple[float, float]], start: float, end: float) -> float:
    """The length of what spans cover, in milliseconds."""
    total, last = 0.0, start
    for first, then in sorted(spans):
        total += max(0.0, min(then, end) - max(first, last))
        last = max(last, min(then, end))
    return total / 1e6


def nccl(event: Event) -> bool:
    """Whether it is communication, by what is known of this program."""
    return "nccl" in event.name or event.name.startswith("all_reduce")


@pytest.mark.parametrize("gpu", range(2))
def test_the_parts_of_an_fsdp_step_are_those_of_a_count_by_hand(gpu: int) -> None:
    """Unions of intervals: with any kernel, with any but NCCL's."""
    found = reduce_trace(fsdp()).gpus[gpu]
    start, end = found.edges[0], found.edges[-1]
    events = [event for event in fsdp().on(found.gpu) if event.duration_ns]
    everything = union(((e.start_ns, e.end_ns) for e in events), start, end) / found.steps
    others = union(((e.start_ns, e.end_ns) for e in events if not nccl(e)), start, end) / found.steps
    communication = union(((e.start_ns, e.end_ns) for e in events if nccl(e)), start, end) / found.steps
    assert found.parts["exposed_communication"] == pytest.approx(everything - others)
    assert found.parts["computing"] + found.parts["copies"] == pytest.approx(others)
    assert found.communicating_ms == pytest.approx(communication)
    idle = sum(value for name, value in found.parts.items() if name.startswith("idle"))
    assert idle + found.parts["cuda_graphs"] == pytest.approx((end - start) / 1e6 / found.steps - everything)


def test_a_real_step_is_found_with_its_program() -> None:
    """Two whole steps of three, 7.1 ms each without the tracer, and what its collectives carry."""
    found = reduce_trace(fsdp())
    assert [(one.gpu, one.device, one.capability, one.steps) for one in found.gpus] == [
        ("/device:GPU:0", "NVIDIA H200", 9.0, 2),
        ("/device:GPU:1", "NVIDIA H200", 9.0, 2),
    ]
    assert found.host["step"][0] == 3
    first = found.gpus[0]
    assert 7.1 < first.step_ms < 7.8
    assert {one.kind for one in first.collectives} == {"all-gather", "reduce-scatter", "all-reduce"}
    gathered = max((one for one in first.collectives if one.kind == "all-gather"), key=lambda one: one.ms)
    assert (gathered.bytes, gathered.runs, gathered.source) == (
        2 * 2048 * 4 * 2048 * 2 // 2,
        12,
        "workloads/common.py:87",
    )
    assert gathered.gb_per_s is not None and 100 < gathered.gb_per_s < 450
    assert any("transformer.py" in one.source for one in first.kernels)


def test_what_holds_its_memory_is_told() -> None:
    """Parameters and Adam's moments in float32, half of each here, and the batch; attention's weights are the largest temporary."""
    memory = reduce_trace(fsdp()).memory
    assert memory is not None
    weights = 3 * 12 * 2048 * 2048 + 256 * 2048
    assert memory.arguments == pytest.approx(3 * weights * 4 // 2, rel=0.001)
    assert memory.largest[0].bytes == 32 * 1024 * 1024 * 4, "32 heads, 1024 tokens to 1024, float32"
    assert memory.largest[0].source == "examples/sharded_transformer.py:174"
    assert "Memory of the step's program" in str(profile_of([Watched(reduction=reduce_trace(fsdp()))]))


def test_its_advice_is_to_cut_the_first_dimension_and_to_hide_gathers() -> None:
    """What was measured to gain on this very program."""
    found = profile_of([Watched(step_s=0.0071, clock="calls", function="step", reduction=reduce_trace(fsdp()))])
    assert {"gathered-along-last-dimension", "gathers-exposed"} <= {advice.code for advice in found.advice}


def test_kernels_inside_cuda_graphs_are_told_by_their_names() -> None:
    """129 graphs a step hold nearly all of 4938 kernels; a second GPU did nothing."""
    found = reduce_trace(read_trace(TRACES / "graphs-h200x1.xplane.pb.gz"))
    (step,) = found.gpus
    assert found.silent_gpus == ("/device:GPU:1",)
    assert step.graphs.launches == pytest.approx(129) and step.graphs.kernels == pytest.approx(4938)
    assert step.graphs.ms > 0.9 * step.step_ms
    assert any(one.source.startswith("workloads/recurrent_scan.py") for one in step.kernels[:3])
    assert "cuda-graphs-in-turn" in {a.code for a in profile_of([Watched(reduction=found)]).advice}


def test_what_the_benchmark_keeps_reproduces_the_table() -> None:
    """Each part within 0.7 ms, by the trace of another machine; one idle time differs by 0.74."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "step-parts-h200x2-0.11.2.json").read_text())["cases"]
    for name, expected in TABLE.items():
        step = kept[name]["gpus"]["/device:GPU:0"]
        parts = step["parts"]
        idle = sum(parts[part] for part in parts if part.startswith("idle")) + parts["cuda_graphs"]
        measured = (
            step["communicating_ms"],
            parts["exposed_communication"],
            parts["computing"] + parts["copies"],
            idle,
        )
        assert measured == pytest.approx(expected, abs=0.75)
        assert sum(parts.values()) == pytest.approx(step["step_ms"])


def test_the_command_profile_reproduces_the_table_from_outside() -> None:
    """`profile` of a program that knows nothing of it: each part within 0.7 ms, idle within 0.9; what it advises where weights are cut along the last dimension."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "own-profiles-h200x2-0.11.2.json").read_text())["cases"]
    for name, (run, exposed, other, idle) in TABLE.items():
        found, parts = kept[name], kept[name]["parts"]
        assert found["communicating_ms"] == pytest.approx(run, abs=0.7)
        assert parts["exposed_communication"] == pytest.approx(exposed, abs=0.7)
        assert parts["computing"] + parts["copies"] == pytest.approx(other, abs=0.7)
        assert sum(parts[part] for part in parts if part.startswith("idle")) == pytest.approx(idle, abs=0.9)
        assert sum(parts.values()) == pytest.approx(found["traced_ms"])
    advice = {name: {one["code"] for one in kept[name]["advice"]} for name in TABLE}
    along = "gathered-along-last-dimension"
    assert [along in advice[name] for name in ("last", "last-fsdp", "first", "first-fsdp")] == [
        True,
        True,
        False,
        False,
    ]
    assert ["gathers-exposed" in advice[name] for name in ("last", "last-fsdp")] == [True, False]
    steps = {name: kept[name]["step_ms"] for name in TABLE}
    assert steps["last-fsdp"] / steps["first-fsdp"] == pytest.approx(1.09, abs=0.02)
    assert steps["last"] / steps["first-fsdp"] == pytest.approx(1.23, abs=0.03)


def test_transposes_vanish_with_the_cut_along_the_first_dimension() -> None:
    """5.1 ms against 0.3."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "step-parts-h200x2-0.11.2.json").read_text())["cases"]
    last, first = (kept[name]["gpus"]["/device:GPU:0"]["transposes_ms"] for name in ("last", "first"))
    assert last > 4.5 and first < 0.5


def test_half_of_a_trace_still_has_its_steps() -> None:
    """Events of one GPU only, and none of the host: the same parts but for idle, whose causes the host tells."""
    whole = reduce_trace(fsdp()).gpus[0]
    alone = Trace(tuple(fsdp().on(whole.gpu)), {whole.gpu: fsdp().planes[whole.gpu]}, fsdp().modules)
    (found,) = reduce_trace(alone).gpus
    assert told(found) == pytest.approx(told(whole), rel=0.02)


def told(step: GpuStep) -> list[float]:
    """The parts in which something ran."""
    return [step.parts[name] for name in ("computing", "copies", "exposed_communication")]


def test_a_scanned_program_has_no_open_loops() -> None:
    """The recurrent cell turns 64 times, and XLA knows it."""
    (found,) = reduce_trace(read_trace(TRACES / "graphs-h200x1.xplane.pb.gz")).gpus
    assert found.launches > 1000
    assert found.looped_launches == 0
