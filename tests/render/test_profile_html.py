"""A profile as a page, with its timeline."""

from __future__ import annotations

import json
import re

from jaxgpu_tune.measure.profile import Profile
from jaxgpu_tune.render.profile_html import COLOURS, profile_html, profile_page
from tests.render import profiles


def test_the_page_is_whole() -> None:
    """What its template asks for is put in, and every block of the timeline can be read back."""
    page = profile_page(profiles.WHOLE)
    assert not any(mark in page for mark in ("@DATA@", "@BODY@", "@TITLE@"))
    assert "<title>python train.py &lt;x&gt;</title>" in page
    assert "<details>" not in page and page.count("<details open>") == 2
    assert "<title>step</title>" in profile_page(Profile(function="step"))


def test_every_block_of_the_timeline_can_be_read_back() -> None:
    """Each text stands once; nothing in it can end the script that holds it."""
    line = next(line for line in profile_page(profiles.WHOLE).splitlines() if '"lanes"' in line)
    found = re.search(r"\{.*\}", line)
    assert found and "<" not in found[0]
    drawn, timeline = json.loads(found[0]), profiles.WHOLE.timeline
    assert len({*drawn["texts"]}) == len(drawn["texts"]) and drawn["leftOut"] == timeline.left_out
    assert len(drawn["lanes"]) == len(timeline.lanes)
    for lane, given in zip(drawn["lanes"], timeline.lanes, strict=True):
        assert lane["name"] == given.name and f"/device:{lane['gpu']}" == given.gpu
        for (start, length, name, detail), block in zip(lane["blocks"], given.blocks, strict=True):
            assert (start, length) == (round(block.start_us, 3), block.length_us)
            assert (drawn["texts"][name], drawn["texts"][detail]) == (block.name, block.detail)


def test_each_part_that_takes_time_is_in_the_bar() -> None:
    """As wide as its share of the step; without a step there is no bar."""
    widths = re.findall(r"width:([\d.]+)%;background:(#\w+)", profile_html(profiles.WHOLE))
    taking = {name: value for name, value in profiles.WHOLE.parts.items() if value > 0}
    assert [colour for _, colour in widths] == [COLOURS[name] for name in taking]
    assert abs(sum(float(width) for width, _ in widths) - 100) < 0.1
    assert "background:" not in profile_html(Profile()).partition("</style>")[2]
