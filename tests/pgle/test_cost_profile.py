"""Profiles as values: their digest, and several merged as XLA's own code inside jaxlib merges them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.pgle.binary_form import parse_binary, print_binary
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, merged, xla_percentile
from tests.pgle.profiles import PROFILES


@settings(max_examples=20, deadline=None)
@given(PROFILES)
def test_the_digest_is_of_the_entries_not_of_their_order(profile: CostProfile) -> None:
    turned = CostProfile(profile.costs[::-1], profile.latencies[::-1])
    assert turned.digest == profile.digest
    assert profile._replace(costs=(*profile.costs, Cost("one more", 1.0))).digest != profile.digest


@settings(max_examples=20, deadline=None)
@given(st.lists(PROFILES, min_size=1, max_size=4), st.integers(0, 100))
def test_merged_is_xlas_own_aggregate(profiles: list[CostProfile], percent: int) -> None:
    """The real C++ code reads what we write, and its answer is ours."""
    from jax._src.lib import _profiler

    theirs = parse_binary(_profiler.aggregate_profiled_instructions([print_binary(one) for one in profiles], percent))
    assert sorted(theirs.costs) == sorted(merged(profiles, percent).costs)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_percentile_is_one_of_the_values(values: list[float]) -> None:
    assert xla_percentile(values, 0) == min(values)
    assert xla_percentile(values, 100) == max(values)
    assert xla_percentile(values, 50) in values


def test_jaxs_default_of_three_runs_is_the_median() -> None:
    assert xla_percentile([1.0, 10.0, 2.0], 90) == 2.0
