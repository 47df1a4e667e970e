"""Collectives of synthetic traces: what each carried, how fast, and who waited for whom."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.trace.reduction import reduce_trace
from tests.measure.trace.reducing import reduced
from tests.traces import instruction, nccl, ran, repeated, trace


def test_waiting_for_a_peer_inside_a_collective_is_told() -> None:
    """The second GPU begins three milliseconds later; both end together."""
    one = [ran("dot", 0, 4), nccl("all-reduce", 4, 6)]
    two = [ran("dot", 0, 7, gpu=1), nccl("all-reduce", 7, 3, gpu=1)]
    first, second = reduce_trace(trace(*repeated(one), *repeated(two), gpus=2)).gpus
    assert (first.parts["exposed_communication"], first.waiting_ms) == (pytest.approx(6), pytest.approx(3))
    assert (second.parts["exposed_communication"], second.waiting_ms) == (pytest.approx(3), pytest.approx(0))


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
