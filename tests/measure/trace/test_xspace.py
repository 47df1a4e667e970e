"""The profiler's own form, read without JAX and without a protobuf library."""

from __future__ import annotations

from textwrap import dedent

from jaxgpu_tune.measure.trace.trace_file import read_trace, wire_events
from jaxgpu_tune.measure.trace.xspace import numbered, planes_of
from tests.child import told
from tests.traces import called, nccl, ran, xspace

WRITTEN = (
    ran("dot.1", 3, 1.5, correlation_id=-7, theoretical_occupancy_pct=62.5),
    ran("dot.2", 2**32, 1, tf_op="jit(step)/dot"),
    nccl("all-gather-start", 4, 0.25, gpu=1),
    *called("step", 1),
)
"""Events of several planes and lines, negative and large numbers, fractions and texts."""


def test_what_is_written_is_read() -> None:
    assert sorted(read_trace(xspace(WRITTEN)).events) == sorted(WRITTEN)


def test_what_is_written_is_read_by_jax() -> None:
    """Its reader is native code, which ends a process that it finds fault with."""
    code = """
        import sys, jax
        from jaxgpu_tune.measure.trace.trace_file import read_trace
        tell([list(event) for event in sorted(read_trace(bytes.fromhex(sys.argv[1])).events)])
    """
    found = told(dedent(code), argv=(xspace(WRITTEN).hex(),), JAX_PLATFORMS="cpu")
    assert found == [list(event) for event in sorted(WRITTEN)]


def test_lines_of_one_name_are_told_apart() -> None:
    """Threads have the same name."""
    assert numbered(["python", "main", "python", "python"]) == ["python", "main", "python (2)", "python (3)"]
    first, second = (ran("dot", start, 1, stream=1) for start in (0, 1))
    assert [event.line for event in wire_events(planes_of(xspace([first, second])))] == [first.line, second.line]
