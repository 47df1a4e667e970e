"""The binary form of a profile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.pgle.binary_form import parse_binary, print_binary
from jaxgpu_tune.pgle.cost_profile import CostProfile
from tests.effort import examples
from tests.pgle.profiles import PROFILES


@settings(max_examples=examples(30), deadline=None)
@given(PROFILES)
def test_what_is_printed_as_bytes_is_read_as_it_was(profile: CostProfile) -> None:
    assert parse_binary(print_binary(profile)) == profile


@settings(max_examples=examples(40), deadline=None)
@given(PROFILES.filter(lambda profile: profile.costs != ()), st.data())
def test_bytes_that_break_off_are_no_profile(profile: CostProfile, data: st.DataObject) -> None:
    """Cut anywhere but between two entries."""
    whole, costs, latencies = print_binary(profile), profile.costs, profile.latencies
    ends = {len(print_binary(CostProfile(costs[:n]))) for n in range(len(costs) + 1)}
    ends |= {len(print_binary(CostProfile(costs, latencies[:n]))) for n in range(len(latencies) + 1)}
    at = data.draw(st.integers(0, len(whole)).filter(lambda at: at not in ends))
    with pytest.raises(ValueError, match="byte"):
        parse_binary(whole[:at])
