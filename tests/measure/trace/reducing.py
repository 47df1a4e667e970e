"""Traces to reduce: what is read of a step, launches, and anything on two GPUs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.events import Event
from jaxgpu_tune.measure.trace.reduction import GpuStep, reduce_trace
from tests.traces import host, ran, trace

LAUNCH = "Host Threads/7"
OPS = ("dot", "fusion", "loop_transpose_fusion", "all-gather-start", "MemcpyD2D", "CudaGraphExec:1")


def reduced(*events: Event, **options: Any) -> GpuStep:
    """The first GPU's step."""
    return reduce_trace(trace(*events, **options)).gpus[0]


def parts_of(step: GpuStep) -> dict[str, float]:
    """The parts that are not zero."""
    return {name: round(value, 6) for name, value in step.parts.items() if value}


def launched(number: int, at: float) -> Event:
    """The host's launch of what carries the number."""
    return host("cuLaunchKernelEx", at, 0.01, line=LAUNCH, correlation_id=number)


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
