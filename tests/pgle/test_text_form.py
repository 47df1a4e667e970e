"""The text form of a profile: what protocol buffers' text format allows, and a line where it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, Latency
from jaxgpu_tune.pgle.text_form import parse_text, print_text
from tests.pgle.profiles import PROFILES


@settings(max_examples=15, deadline=None)
@given(PROFILES)
def test_what_is_printed_as_text_is_read_as_it_was(profile: CostProfile) -> None:
    assert parse_text(print_text(profile)) == profile


def test_the_text_form_is_read_as_protocol_buffers_text_is() -> None:
    text = r"""
    # a comment
    costs: < name: 'all-gather' "-start.1", cost_us: 7040.5215; >
    costs [{ name: "a\"b\n\303\251\x41" cost_us: 1e3f }, {name:"c" cost_us:.5}]
    latencies { source: "a" target: "b" latency_us: 3 }
    costs { name: "0123::inner" }
    """
    named = (("all-gather-start.1", 7040.5215), ('a"b\néA', 1000.0), ("c", 0.5), ("inner", 0.0, "0123"))
    assert parse_text(text) == CostProfile(tuple(Cost(*one) for one in named), (Latency("a", "b", 3.0),))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('costs { name: "a" cost_us: 1 }\ncosts { nam: "b" }', "line 2: 'nam' where name or cost_us"),
        ('costs { name: "a"', "line 1: 'the end' where"),
        ("costs { name: a }", "line 1: 'a' where a quoted name"),
        ('costs { name: "a" cost_us: "1" }', "line 1: '\"1\"' where microseconds"),
        ("cost { }", "line 1: 'cost' where costs or latencies"),
        ("\n\n$", "line 3: '\\$' is no part"),
        ("costs 1", "line 1: '1' where { or <"),
    ],
)
def test_what_is_no_profile_is_told_by_its_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_text(text)
