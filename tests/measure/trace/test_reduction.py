"""Where a step goes: a trace of each kind with its known answer, and what holds for every trace."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.events import Event, Trace
from jaxgpu_tune.measure.trace.reduction import PARTS, reduce_trace
from tests.measure.trace.reducing import jobs, parts_of, reduced
from tests.traces import instruction, nccl, ran, repeated, trace


def test_a_step_that_only_computes() -> None:
    """One kernel after another, without a pause."""
    step = reduced(*repeated([ran("fusion", 0, 4), ran("dot", 4, 6)]))
    assert (step.steps, step.step_ms) == (4, pytest.approx(10))
    assert parts_of(step) == {"computing": 10}


def test_communication_beside_kernels_is_hidden_and_the_rest_exposed() -> None:
    """An all-gather of six milliseconds, two of them alone."""
    step = reduced(*repeated([ran("dot", 0, 6), nccl("all-gather-start", 2, 6), ran("fusion", 8, 2)]))
    assert parts_of(step) == {"computing": 8, "exposed_communication": 2}
    assert (step.communicating_ms, step.hidden_ms) == (pytest.approx(6), pytest.approx(4))
    (gathered,) = step.collectives
    assert (gathered.kind, gathered.runs) == ("all-gather", 1)
    assert (gathered.exposed_ms, gathered.hidden_ms) == (pytest.approx(2), pytest.approx(4))


def test_a_copy_hides_communication_and_is_hidden_by_computing() -> None:
    """Each moment has one owner: computing, then copies, then communication."""
    copy = ran("MemcpyD2D", 4, 4, stream=3, name="MemcpyD2D", memcpy_details="kind_src:device size:1024")
    step = reduced(*repeated([ran("dot", 0, 5), copy, nccl("all-gather", 3, 7)]))
    assert parts_of(step) == {"computing": 5, "copies": 3, "exposed_communication": 2}


def test_transposes_and_conversions_are_told_by_the_program() -> None:
    """A fusion that only moves numbers is a copy, whatever it is called; one that also adds is computing."""
    program = [
        instruction("fusion.1", "fusion", "transpose", "parameter"),
        instruction("fusion.2", "fusion", "convert", "parameter", "bitcast"),
        instruction("loop_convert_fusion", "fusion", "add", "convert", "parameter"),
    ]
    events = repeated([ran("fusion.1", 0, 3), ran("fusion.2", 3, 2), ran("loop_convert_fusion", 5, 5)])
    step = reduced(*events, instructions=program)
    assert parts_of(step) == {"computing": 5, "copies": 5}
    assert (step.transposes_ms, step.conversions_ms) == (pytest.approx(3), pytest.approx(2))


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("loop_transpose_fusion.3", True),
        ("wrapped_convert", True),
        ("input_transpose_fusion_1", True),
        ("copy.12", True),
        ("loop_convert_fusion", True),
        ("loop_add_convert_fusion", False),
        ("transposed_gemm", False),
    ],
)
def test_without_the_program_names_tell(name: str, moves: bool) -> None:
    """As XLA names its kernels."""
    step = reduced(*repeated([ran(name, 0, 4), ran("dot", 4, 6)]))
    assert step.parts["copies"] == pytest.approx(4 if moves else 0)


def test_a_cuda_graph_as_one_event_is_a_part_of_its_own() -> None:
    """What it ran inside cannot be told."""
    graph = ran("CudaGraphExec:5", 0, 7, cuda_graph_exec_id=5)
    step = reduced(*repeated([graph, ran("fusion", 8, 2)]))
    assert parts_of(step) == {"cuda_graphs": 7, "computing": 2, "idle_host": 1}
    assert (step.graphs.launches, step.graphs.whole_ms) == (pytest.approx(1), pytest.approx(7))


def test_between_the_kernels_of_a_graph_it_is_the_graph_that_runs() -> None:
    """Conditional bodies inside a graph are not shown: a pause there is not idle."""
    inside = {"cuda_graph_id": 3, "correlation_id": 8}
    step = reduced(*repeated([ran("fusion", 0, 1, **inside), ran("dot", 8, 2, **inside)]))
    assert parts_of(step) == {"computing": 3, "cuda_graphs": 7}
    assert step.graphs.kernels == pytest.approx(2)


def test_a_gpu_that_did_nothing_is_named() -> None:
    """One share without communication leaves the other GPU's plane empty."""
    found = reduce_trace(trace(*repeated([ran("dot", 0, 10)]), gpus=2))
    assert [one.gpu for one in found.gpus] == ["/device:GPU:0"]
    assert found.silent_gpus == ("/device:GPU:1",)


def test_rows_of_a_table_add_up() -> None:
    """Every kernel's and collective's milliseconds are those that it owns."""
    events = [ran("dot", 0, 5), ran("dot.1", 3, 4, stream=2), nccl("all-gather", 2, 6), nccl("all-reduce", 6, 3)]
    step = reduced(*repeated(events))
    assert sum(one.ms for one in step.kernels) == pytest.approx(step.parts["computing"])
    assert sum(one.exposed_ms for one in step.collectives) == pytest.approx(step.parts["exposed_communication"])
    assert sum(one.ms for one in step.collectives) == pytest.approx(step.communicating_ms)


def shown(found: Trace) -> list[tuple[str, float, dict[str, float]]]:
    """What a person reads of it, rounded to a picosecond."""
    gpus = reduce_trace(found).gpus
    return [(g.gpu, round(g.step_ms, 9), {n: round(p, 9) for n, p in g.parts.items()}) for g in gpus]


@given(jobs())
@settings(max_examples=40, deadline=None)
def test_the_parts_add_up_to_the_step(events: list[Event]) -> None:
    """Nothing is counted twice, nothing is lost, nothing is negative."""
    for gpu in reduce_trace(trace(*events, gpus=2)).gpus:
        assert tuple(gpu.parts) == PARTS
        assert sum(gpu.parts.values()) == pytest.approx(gpu.step_ms)
        assert all(value >= 0 for value in gpu.parts.values())
        assert gpu.hidden_ms + gpu.parts["exposed_communication"] == pytest.approx(gpu.communicating_ms)


@given(jobs(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_events_does_not_matter(events: list[Event], random: Any) -> None:
    """Lines are read in any order."""
    mixed = list(events)
    random.shuffle(mixed)
    assert shown(trace(*events, gpus=2)) == shown(trace(*mixed, gpus=2))


@given(jobs(), st.integers(-(10**6), 10**6))
@settings(max_examples=30, deadline=None)
def test_when_it_was_does_not_matter(events: list[Event], shift: int) -> None:
    """All times later or earlier alike."""
    moved = [event._replace(start_ns=event.start_ns + shift * 1000) for event in events]
    assert shown(trace(*events, gpus=2)) == shown(trace(*moved, gpus=2))
