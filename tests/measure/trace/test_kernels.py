"""The kernels that own most of a step, by the line that they come from."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.trace.kernels import kernels_of
from jaxgpu_tune.measure.trace.kinds import works_on
from jaxgpu_tune.measure.trace.sweep import spans
from tests.measure.trace.reducing import reduced
from tests.traces import MS, instruction, nccl, ran, repeated, trace

GPU = "/device:GPU:0"


def test_kernels_of_one_line_are_one_row_under_the_name_of_the_longest() -> None:
    """Whatever they are called; most time first."""
    program = [
        instruction("fusion.1", "fusion", "add", source="model.py:7", scope="jit(f)/a"),
        instruction("fusion.2", "fusion", "multiply", source="model.py:7", scope="jit(f)/a"),
        instruction("dot", "dot", source="model.py:9"),
    ]
    step = reduced(*repeated([ran("fusion.1", 0, 1), ran("fusion.2", 1, 3), ran("dot", 4, 6)]), instructions=program)
    dot, line = step.kernels
    assert (dot.name, dot.source, dot.ms, dot.runs) == ("dot", "model.py:9", pytest.approx(6), 1)
    assert (line.name, line.source, line.scope, line.kind) == ("fusion.2", "model.py:7", "jit(f)/a", "computing")
    assert (line.ms, line.runs) == (pytest.approx(4), 2)


def test_without_a_line_the_name_without_its_number_tells_them_apart() -> None:
    events = [
        ran("loop_fusion.1", 0, 2),
        ran("loop_fusion.22_1", 2, 1),
        ran("loop_fusion_other", 3, 1),
        ran("dot", 4, 6),
    ]
    names = [(one.name, round(one.ms, 9), one.runs) for one in reduced(*repeated(events)).kernels]
    assert names == [("dot", 6.0, 1.0), ("loop_fusion.1", 3.0, 2.0), ("loop_fusion_other", 1.0, 1.0)]


def test_a_kernel_has_the_time_that_it_owns_and_communication_has_none() -> None:
    """Beside another that began first it owns the rest; one that owns nothing is no run."""
    events = [ran("dot", 0, 5), ran("sort", 4, 3, stream=2), ran("small", 1, 1, stream=3), nccl("all-gather", 7, 2)]
    owned = spans(works_on(trace(*events), GPU), 0, 10 * MS)
    assert [(one.name, one.ms, one.runs) for one in kernels_of(owned, 2)] == [("dot", 2.5, 0.5), ("sort", 1.0, 0.5)]
