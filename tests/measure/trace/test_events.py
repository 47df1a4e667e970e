"""What a trace is read into."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.trace.events import HOST, gpu_number
from jaxgpu_tune.measure.trace.trace_file import read_trace
from tests.traces import host, ran, trace, xspace


def test_gpus_are_in_the_order_of_their_numbers() -> None:
    """Ten comes after nine."""
    found = read_trace(xspace([ran("dot", 0, 1, gpu=number) for number in (10, 9, 1)])).gpus()
    assert [gpu_number(name) for name in found] == [1, 9, 10]
    assert gpu_number("/host:CPU") == -1


def test_of_a_gpu_only_what_its_streams_ran_counts() -> None:
    """Lines that tools derive from them would count it twice; of the host all lines count."""
    one, derived = ran("dot", 0, 1), ran("dot", 0, 1)._replace(line="XLA Ops")
    called = host("call", 0, 1, line="XLA Ops")
    found = trace(one, derived, called, gpus=2)
    assert list(found.on("/device:GPU:0")) == [one] and list(found.on("/device:GPU:1")) == []
    assert list(found.on(HOST)) == [called]
    assert (one.start_ns, one.end_ns) == (0, 1e6)


@pytest.mark.parametrize(
    ("plane", "number"),
    [("/device:GPU:3", 3), ("/device:GPU:12 NVIDIA", 12), ("/device:GPU:x", -1), ("/device:TPU:1", -1), ("", -1)],
)
def test_the_number_of_a_gpu(plane: str, number: int) -> None:
    assert gpu_number(plane) == number
