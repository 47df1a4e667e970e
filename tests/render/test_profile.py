"""The head of a profile: the step, by which clock, and what the tracer costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.profile import Profile
from jaxgpu_tune.render.profile import CLOCKS, head_lines
from tests.traces import ran, trace


@given(
    st.sampled_from([None, 10.0]),
    st.sampled_from(["marks", "calls", "trace", "blocked"]),
    st.sampled_from(["", "train"]),
    st.sampled_from([None, 0.02]),
    st.sampled_from(["", "H200"]),
    st.sampled_from([None, 8.0]),
)
def test_the_head(step: float | None, clock: str, function: str, error: float | None, device: str, unnamed: float | None) -> None:  # fmt: skip
    """What is not known is left out."""
    profile = Profile(step_ms=step, clock=clock, function=function, error=error, device=device, unnamed_ms=unnamed)
    first, *more = head_lines(profile)
    where = f" on {device}" if device else ""
    if step is None:
        assert first == f"The step's time is not known{where}." and not more
        return
    by = CLOCKS[clock].format(function=function or "the step")
    sure = ", +- 2.0%" if error else ""
    assert first == f"10.00 ms a step{where} ({by}, without the tracer{sure})"
    assert len(more) == (unnamed is not None)
    assert all("8.00 ms (without: 1.25 times as long)" in line for line in more)


@pytest.mark.parametrize(("traced", "told"), [(10.0, False), (10.9, False), (11.2, True), (20.0, True)])
def test_a_tracer_that_costs_more_than_a_tenth_is_told(traced: float, told: bool) -> None:
    """Idle time is its own in part, then."""
    from jaxgpu_tune.measure.trace.reduction import reduce_trace

    gpus = reduce_trace(trace(*(ran("dot", at, 1) for at in range(0, 40, 10)))).gpus
    assert gpus
    lines = list(head_lines(Profile(step_ms=10.0, traced_ms=traced, clock="marks", gpus=gpus)))
    assert any("The tracer made the step" in line for line in lines) is told
