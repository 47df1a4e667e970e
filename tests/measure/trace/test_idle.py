"""Why a GPU ran nothing: a late host, launching, or a peer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.idle import causes, host_of
from jaxgpu_tune.measure.trace.kinds import works_on
from tests.measure.trace.reducing import LAUNCH, launched, parts_of, reduced
from tests.traces import MS, host, ran, repeated, trace


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


@given(st.floats(0, 1e6), st.floats(1, 1e6), st.lists(st.tuples(st.floats(0, 2e6), st.floats(0, 1e6)), max_size=4))
@settings(max_examples=20, deadline=None)
def test_the_causes_of_a_pause_add_up_to_it(start: float, length: float, ran_: list[tuple[float, float]]) -> None:
    """Whatever the host did, and whether a launch was seen or not."""
    end = start + length
    programs = [host("ExecuteThunks", at / MS, took / MS) for at, took in ran_]
    (work,) = works_on(trace(ran("dot", end / MS, 1, correlation_id=1)), "/device:GPU:0")
    seen = [host("cuLaunchKernel", 0, 0.001, correlation_id=number) for number in (1, 2)]
    for launches in seen:
        found = list(causes(start, end, None, work, host_of(trace(*programs, launches), "/device:GPU:0")))
        assert sum(took for _, took in found) == pytest.approx(length)
        assert all(took >= 0 for _, took in found)
