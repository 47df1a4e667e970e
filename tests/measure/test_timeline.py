"""A few steps as lanes of blocks."""

from __future__ import annotations

from jaxgpu_tune.measure.timeline import Timeline, timeline_of
from jaxgpu_tune.measure.trace.reduction import reduce_trace
from tests.measure.test_profile import both
from tests.traces import ran, repeated, trace


def test_the_timeline_has_whole_lanes_of_two_steps() -> None:
    """Blocks of a lane do not overlap; communication has a lane of its own."""
    lanes = both().timeline.lanes
    assert {(lane.gpu[-1], lane.name) for lane in lanes} >= {
        ("0", "computing"),
        ("0", "communication"),
        ("1", "computing"),
    }
    for lane in lanes:
        ends = [block.start_us + block.length_us for block in lane.blocks]
        assert all(end <= block.start_us + 1e-6 for end, block in zip(ends, lane.blocks[1:], strict=False))
    edges = [edges for _, edges in both().timeline.edges_us]
    assert [len(some) for some in edges] == [3, 3] and edges[0][0] == 0
    assert all(0 <= edge <= edges[0][-1] for some in edges for edge in some)
    drawn = [block for lane in lanes for block in lane.blocks]
    assert all(one.start_us + one.length_us > 0 and one.start_us < edges[0][-1] for one in drawn)
    assert Timeline() == ((), (), 0)


def test_of_too_many_blocks_the_shortest_are_left_out() -> None:
    """And counted; all of the longest stay, however many they are."""
    many = [ran(f"fusion.{number}", number / 10, 0.01 if number % 3 else 0.05) for number in range(90)]
    found = trace(*repeated(many))
    reduction = reduce_trace(found)
    assert timeline_of(found, reduction).left_out == 0
    for most in (50, 70, 179):
        drawn = timeline_of(found, reduction, most=most)
        assert drawn.left_out == 120
    assert {round(block.length_us) for lane in drawn.lanes for block in lane.blocks} == {50}
