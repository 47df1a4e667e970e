"""What failed is never tried again, whatever is beside it; what ran well is not blamed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.failures import Failures
from jaxgpu_tune.measure.search.trials import NOTHING, Config
from tests.measure.atoms import atom

A, B, C, D = (frozenset([atom(f"--{name}=1")]) for name in "abcd")
CONFIGS = st.frozensets(st.sampled_from([atom(f"--{name}=1") for name in "abcde"]))


def test_a_setting_that_fails_alone_is_given_up_in_any_company() -> None:
    found = Failures().learnt(A, [NOTHING, B])
    assert found.forbid(A) and found.forbid(A | B) and not found.forbid(B) and not found.forbid(NOTHING)


def test_one_setting_more_than_what_ran_well_is_to_blame_with_whatever_it_stood_beside() -> None:
    """Alone, or together with one of those: each pair is given up."""
    found = Failures().learnt(A | B | C, [NOTHING, B | C])
    assert all(found.forbid(one) for one in (A, A | B, A | C, A | D))
    assert not found.forbid(B | C)


def test_a_setting_that_ran_well_elsewhere_is_blamed_in_pairs_only() -> None:
    """And of those not for the ones that ran well."""
    found = Failures().learnt(A | B | C, [NOTHING, A | D, A | C, B | C])
    assert found.forbid(A | B) and found.forbid(A | B | D)
    assert not found.forbid(A | C) and not found.forbid(A | D) and not found.forbid(A)


def test_several_settings_at_once_are_given_up_together() -> None:
    """Which of them it was is not known."""
    for good in ([NOTHING], []):
        found = Failures().learnt(A | B, good)
        assert found.forbid(A | B | C) and not found.forbid(A) and not found.forbid(B)


@given(st.lists(st.tuples(CONFIGS.filter(bool), st.booleans()), max_size=8))
def test_nothing_that_ran_well_is_forbidden_and_nothing_that_failed_is_allowed(told: list[tuple[Config, bool]]) -> None:
    """In whatever order it is learnt, as far as a search may come there: what holds a failure is not run."""
    found, good, failed = Failures(), [NOTHING], []
    for config, well in told:
        if found.forbid(config) or any(config <= one for one in good):
            continue
        if well:
            good.append(config)
        else:
            failed.append(config)
            found = found.learnt(config, good)
    assert not any(found.forbid(one) for one in good)
    assert all(found.forbid(one) for one in failed)
