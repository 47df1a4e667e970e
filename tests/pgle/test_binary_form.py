"""The binary form of a profile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.pgle.binary_form import parse_binary, print_binary
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from tests.pgle.profiles import PROFILES


@settings(max_examples=15, deadline=None)
@given(PROFILES)
def test_what_is_printed_as_bytes_is_read_as_it_was(profile: CostProfile) -> None:
    assert parse_binary(print_binary(profile)) == profile


@settings(max_examples=20, deadline=None)
@given(PROFILES.filter(lambda profile: profile.costs != ()), st.data())
def test_bytes_that_break_off_are_no_profile(profile: CostProfile, data: st.DataObject) -> None:
    """Cut anywhere but between two entries."""
    whole, costs, latencies = print_binary(profile), profile.costs, profile.latencies
    ends = {len(print_binary(CostProfile(costs[:n]))) for n in range(len(costs) + 1)}
    ends |= {len(print_binary(CostProfile(costs, latencies[:n]))) for n in range(len(latencies) + 1)}
    at = data.draw(st.integers(0, len(whole)).filter(lambda at: at not in ends))
    with pytest.raises(ValueError, match="byte"):
        parse_binary(whole[:at])


@pytest.mark.parametrize("size", [1, 100, 127, 128, 129, 16_383, 16_384, 16_385, 50_000])
def test_names_of_any_length(size: int) -> None:
    """How long one is takes one byte, two or three."""
    profile = CostProfile((Cost("x" * size, 1.5), Cost("last", 2.0)))
    assert parse_binary(print_binary(profile)) == profile


def test_bytes_are_as_the_format_says() -> None:
    """costs = 1 { name = 1, cost_us = 2 }: lengths in sevens of bits, the lowest first, each but the last with its highest bit set."""
    whole = print_binary(CostProfile((Cost("x" * 200, 1.0),)))
    assert whole == b"\x0a\xd4\x01" + b"\x0a\xc8\x01" + b"x" * 200 + b"\x11" + b"\0" * 6 + b"\xf0\x3f"
