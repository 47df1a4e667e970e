"""A claim and its fresh pairs: whose turn it is, when it is over, and what it came to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.contest import Contest
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Trial
from jaxgpu_tune.measure.statistics import PAIRS
from tests.measure.atoms import atom

FAST: Config = frozenset([atom("--a=1")])
NEW = Contest(NOTHING, FAST)


def runs(ratio: float = 1.25, number: int = 2 * PAIRS) -> list[Trial]:
    """Runs in turns, the challenger so many times as fast."""
    turns = [NEW.turn(number) for number in range(number)]
    return [Trial(one, "check", 10.0 if one == NOTHING else 10.0 / ratio) for one in turns]


def test_turns_go_there_and_back() -> None:
    """So that what drifts hits both alike."""
    turns = ["B" if NEW.turn(number) == FAST else "A" for number in range(8)]
    assert "".join(turns) == "ABBAABBA"


def test_six_pairs_that_agree_win_and_what_came_after_is_left() -> None:
    after = [Trial(FAST, "toggle", 1.0)]
    held, left = NEW.held([*runs(), *after])
    assert held.over and held.won and left == after
    assert held.ratios == pytest.approx((1.25,) * PAIRS) and held.length == 2 * PAIRS
    assert all(pair == (10.0, 8.0) for pair in held.pairs), "the reference first, whoever ran first"


@given(st.integers(0, 2 * PAIRS - 1))
def test_until_then_it_is_open(number: int) -> None:
    held, left = NEW.held(runs(number=number))
    assert not held.over and not held.won and left == []
    assert (len(held.pairs), held.length) == (number // 2, number)


@pytest.mark.parametrize("ratio", [1.0, 0.9])
def test_one_pair_in_which_it_is_not_faster_ends_it(ratio: float) -> None:
    """No number of pairs could show it any more."""
    told = [*runs(number=4), *runs(ratio)[4:]]
    held, left = NEW.held(told)
    assert held.over and not held.won and len(held.pairs) == 3 and left == told[6:]


@pytest.mark.parametrize(("failure", "told"), [("hang", "hang"), ("", "failed")])
def test_a_run_that_fails_ends_it(failure: str, told: str) -> None:
    """Its length counts that run, also in the middle of a pair: the next contest begins with a turn of its own."""
    failed = Trial(FAST, "check", None, failure)
    for before in (2, 3):
        held, left = NEW.held([*runs(number=before), failed, *runs(number=1)])
        assert held.length == before + 1 and left == runs(number=1)
    assert (held.over, held.won, held.failure, held.verdict.word) == (True, False, told, "failed")
    assert left == runs(number=1) and len(held.pairs) == 1 and held.failed == FAST
