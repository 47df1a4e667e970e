"""Every moment of a GPU has one owner."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.events import Event
from jaxgpu_tune.measure.trace.kinds import works_on
from jaxgpu_tune.measure.trace.sweep import spans
from tests.measure.trace.reducing import jobs
from tests.traces import MS, trace


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
    found: dict[str, float] = {}
    for gpu in ("/device:GPU:0", "/device:GPU:1"):
        for span in spans(works_on(trace(*events, gpus=2), gpu), 0, MS):
            key = f"{gpu} {span.owner.kind if span.owner else 'idle'} {bool(span.hidden)}"
            found[key] = found.get(key, 0.0) + span.end - span.start
    return found


@given(jobs())
@settings(max_examples=30, deadline=None)
def test_there_is_no_moment_without_a_span_and_none_with_two(events: list[Event]) -> None:
    """From the first nanosecond that is asked for to the last; nothing is owned by what does not run then."""
    found = list(spans(works_on(trace(*events, gpus=2), "/device:GPU:0"), 50_000, 300_000))
    assert (found[0].start, found[-1].end) == (50_000, 300_000)
    assert all(one.end == other.start for one, other in pairwise(found))
    for span in found:
        for work in (span.owner, span.hidden):
            assert work is None or work.start <= span.start < span.end <= work.end
        assert span.hidden is None or (span.owner and span.owner.kind != "communication" == span.hidden.kind)
