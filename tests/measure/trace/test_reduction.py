"""Where a step goes: a trace of each kind with its known answer, and what holds for every trace."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.events import Event, Trace
from jaxgpu_tune.measure.trace.reduction import PARTS, GpuStep, reduce_trace
from tests.effort import examples
from tests.traces import MS, called, host, instruction, nccl, ran, repeated, trace

LAUNCH = "Host Threads/7"


def reduced(*events: Event, **options: Any) -> GpuStep:
    """The first GPU's step."""
    return reduce_trace(trace(*events, **options)).gpus[0]


def parts_of(step: GpuStep) -> dict[str, float]:
    """The parts that are not zero."""
    return {name: round(value, 6) for name, value in step.parts.items() if value}


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


def launched(number: int, at: float) -> Event:
    """The host's launch of what carries the number."""
    return host("cuLaunchKernelEx", at, 0.01, line=LAUNCH, correlation_id=number)


def test_a_late_host_is_told_from_launching() -> None:
    """The program began two milliseconds after the GPU had nothing left; then launching took one."""
    events = []
    for number in range(5):
        zero = 10.0 * number
        events += [launched(2 * number, zero - 0.5), ran("dot", zero, 6, correlation_id=2 * number)]
        events += [host("[0] GpuExecutable::ExecuteThunks", zero + 8, 1.5, line=LAUNCH)]
        events += [launched(2 * number + 1, zero + 8.9), ran("fusion", zero + 9, 1, correlation_id=2 * number + 1)]
    step = reduced(*events)
    assert parts_of(step) == {"computing": 7, "idle_host": 2, "idle_launches": 1}


def test_the_executions_of_another_gpu_do_not_count() -> None:
    """The host ran a program for the second GPU only."""
    busy = host("[1] GpuExecutable::ExecuteThunks", 6, 4, line=LAUNCH)
    step = reduced(*repeated([ran("dot", 0, 6, correlation_id=1), busy]))
    assert parts_of(step) == {"computing": 6, "idle_host": 4}


def test_many_small_kernels_with_pauses_are_launching() -> None:
    """Pauses of ten microseconds between kernels of ten."""
    small = [ran(f"fusion.{number}", 0.02 * number, 0.01) for number in range(500)]
    step = reduced(*repeated(small))
    assert parts_of(step) == {"computing": 5, "idle_launches": 5}
    assert step.launches == pytest.approx(500)


def test_queued_work_that_stands_beside_communication_waits_for_a_peer() -> None:
    """A copy between GPUs that was launched long before."""
    copy = ran("all-gather", 8, 2, name="MemcpyP2P", correlation_id=2, memcpy_details="size:1000")
    step = reduced(*repeated([ran("dot", 0, 5), copy, launched(2, 1)], every=10.0))
    assert parts_of(step) == {"computing": 5, "idle_peer": 3, "exposed_communication": 2}


def test_waiting_for_a_peer_inside_a_collective_is_told() -> None:
    """The second GPU begins three milliseconds later; both end together."""
    one = [ran("dot", 0, 4), nccl("all-reduce", 4, 6)]
    two = [ran("dot", 0, 7, gpu=1), nccl("all-reduce", 7, 3, gpu=1)]
    first, second = reduce_trace(trace(*repeated(one), *repeated(two), gpus=2)).gpus
    assert (first.parts["exposed_communication"], first.waiting_ms) == (pytest.approx(6), pytest.approx(3))
    assert (second.parts["exposed_communication"], second.waiting_ms) == (pytest.approx(3), pytest.approx(0))


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


def test_no_gpu_at_all_leaves_the_hosts_clock() -> None:
    """As on a CPU: the calls' pace, counted once although JAX writes two events a call."""
    calls = [event for number in range(5) for event in called("train_step", 20.0 * number)]
    found = reduce_trace(trace(*calls, gpus=0))
    assert found.gpus == ()
    assert found.host == {"train_step": (5, pytest.approx(20))}


def test_loops_inside_a_step_do_not_count_as_steps() -> None:
    """What runs eight times a step repeats more often than the step; the host's calls, where seen, say so too."""
    layers = [ran("layer", 1 + number, 1) for number in range(8)]
    step = [ran("embed", 0, 1), *layers, ran("loss", 9, 1)]
    calls = [event for number in range(4) for event in called("step", 10.0 * number)]
    for events in (repeated(step), [*repeated(step), *calls]):
        found = reduced(*events)
        assert (found.steps, found.by, found.step_ms) == (4, "embed", pytest.approx(10))


def test_what_does_not_repeat_is_one_step() -> None:
    """All that ran, and it is said that no step was found."""
    step = reduced(ran("dot", 0, 6), ran("fusion", 7, 3))
    assert (step.steps, step.by, step.step_ms) == (0, "", pytest.approx(10))


def test_collectives_know_bytes_bandwidth_and_line() -> None:
    """An all-gather of 80 MB over two GPUs in 1 ms: each sent 40 MB."""
    gather = instruction(
        "all-gather-start", "all-gather-start", operand_bytes=40_000_000, result_bytes=80_000_000, source="model.py:7"
    )
    step = reduced(*repeated([nccl("all-gather-start", 0, 1), ran("dot", 1, 9)]), instructions=[gather])
    (found,) = step.collectives
    assert (found.bytes, found.source, found.gb_per_s) == (80_000_000, "model.py:7", pytest.approx(40))


def test_bandwidth_counts_the_gpus_of_all_processes() -> None:
    """Of an all-reduce over two processes of one GPU each, every GPU sends what it has once."""
    total = instruction("all-reduce", "all-reduce", operand_bytes=80_000_000, result_bytes=80_000_000)
    found = trace(*repeated([ran("dot", 0, 9), nccl("all-reduce", 9, 1)]), instructions=[total])
    speeds = [reduce_trace(found, processes=n).gpus[0].collectives[0].gb_per_s for n in (2, 4)]
    assert speeds == [pytest.approx(80), pytest.approx(120)]


def test_rows_of_a_table_add_up() -> None:
    """Every kernel's and collective's milliseconds are those that it owns."""
    events = [ran("dot", 0, 5), ran("dot.1", 3, 4, stream=2), nccl("all-gather", 2, 6), nccl("all-reduce", 6, 3)]
    step = reduced(*repeated(events))
    assert sum(one.ms for one in step.kernels) == pytest.approx(step.parts["computing"])
    assert sum(one.exposed_ms for one in step.collectives) == pytest.approx(step.parts["exposed_communication"])
    assert sum(one.ms for one in step.collectives) == pytest.approx(step.communicating_ms)


OPS = ("dot", "fusion", "loop_transpose_fusion", "all-gather-start", "MemcpyD2D", "CudaGraphExec:1")


@st.composite
def jobs(draw: st.DrawFn) -> list[Event]:
    """Anything, on two streams of two GPUs, in microseconds."""
    number = draw(st.integers(1, 12))
    found = []
    for _ in range(number):
        op = draw(st.sampled_from(OPS))
        start, length = draw(st.integers(0, 400)), draw(st.integers(1, 200))
        stats = {"cuda_graph_exec_id": 1} if op.startswith("Cuda") else {"correlation_id": draw(st.integers(0, 9))}
        gpu, stream = draw(st.integers(0, 1)), draw(st.integers(1, 2))
        found.append(ran(op, start / 1e3, length / 1e3, gpu=gpu, stream=stream, name=op, **stats))
    launches = draw(st.lists(st.integers(0, 400), max_size=4))
    return [*found, *(launched(number, start / 1e3) for number, start in enumerate(launches))]


def shown(found: Trace) -> list[tuple[str, float, dict[str, float]]]:
    """What a person reads of it, rounded to a picosecond."""
    gpus = reduce_trace(found).gpus
    return [(g.gpu, round(g.step_ms, 9), {n: round(p, 9) for n, p in g.parts.items()}) for g in gpus]


@given(jobs())
@settings(max_examples=examples(80), deadline=None)
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


@given(jobs(), st.data())
@settings(max_examples=30, deadline=None)
def test_cutting_an_event_in_two_changes_no_part(events: list[Event], data: st.DataObject) -> None:
    """Whether one kernel ran or two without a pause between is not told apart (no step is looked for in so little)."""
    gpu_events = [event for event in events if event.plane.startswith("/device")]
    cut = data.draw(st.sampled_from(gpu_events))
    at = data.draw(st.integers(1, int(cut.duration_ns) - 1))
    halves = [cut._replace(duration_ns=at), cut._replace(start_ns=cut.start_ns + at, duration_ns=cut.duration_ns - at)]
    whole = spans_parts(events)
    assert spans_parts([*(event for event in events if event is not cut), *halves]) == pytest.approx(whole)


def spans_parts(events: list[Event]) -> dict[str, float]:
    """Nanoseconds by kind of owner over a fixed time."""
    from jaxgpu_tune.measure.trace.kinds import works_on
    from jaxgpu_tune.measure.trace.sweep import spans

    found: dict[str, float] = {}
    for gpu in ("/device:GPU:0", "/device:GPU:1"):
        for span in spans(works_on(trace(*events, gpus=2), gpu), 0, MS):
            key = f"{gpu} {span.owner.kind if span.owner else 'idle'} {bool(span.hidden)}"
            found[key] = found.get(key, 0.0) + span.end - span.start
    return found
