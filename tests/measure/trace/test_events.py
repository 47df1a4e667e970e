"""What a trace is read into."""

from __future__ import annotations

from jaxgpu_tune.measure.trace.events import gpu_number
from jaxgpu_tune.measure.trace.trace_file import read_trace
from tests.traces import ran, xspace


def test_gpus_are_in_the_order_of_their_numbers() -> None:
    """Ten comes after nine."""
    found = read_trace(xspace([ran("dot", 0, 1, gpu=number) for number in (10, 9, 1)])).gpus()
    assert [gpu_number(name) for name in found] == [1, 9, 10]
    assert gpu_number("/host:CPU") == -1
