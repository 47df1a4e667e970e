"""Why a GPU ran nothing: a late host, launching, or a peer."""

from __future__ import annotations

import pytest

from tests.measure.trace.reducing import LAUNCH, launched, parts_of, reduced
from tests.traces import host, ran, repeated


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
