"""Verdicts from pairs: enough of them, all of one mind, and of a size that matters."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.statistics import coverage, futile, order, ratios, verdict

RATIO = st.floats(0.5, 2.0)


@settings(deadline=None)
@given(st.lists(RATIO, min_size=1, max_size=9))
def test_the_reciprocal_says_the_opposite(found: list[float]) -> None:
    """Who is reference does not matter to what is shown."""
    opposite = {"faster": "slower", "slower": "faster", "no-difference": "no-difference"}
    assert verdict([1 / ratio for ratio in found]).word == opposite[verdict(found).word] or len(found) % 2 == 0


@settings(deadline=None)
@given(st.lists(RATIO, min_size=6, max_size=9))
def test_one_that_disagrees_is_enough(found: list[float]) -> None:
    """And then more pairs cannot help."""
    mixed = [*found, 0.99, 1.01]
    assert verdict(mixed).word == "no-difference" and futile(mixed)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ([1.01] * 6, "faster"),
        ([1.01] * 5, "no-difference"),
        ([1.004] * 6, "no-difference"),
        ([0.99] * 6, "slower"),
        ([1.01] * 5 + [1.0], "no-difference"),
        ([0.99] * 5 + [1.0], "no-difference"),
        ([], "failed"),
    ],
)
def test_the_rule(found: list[float], word: str) -> None:
    """Six pairs, all agree, at least half a percent."""
    assert verdict(found).word == word


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Smallest to largest of six holds the true median in 97 of 100 cases, of a skewed distribution as well."""
    dice = random.Random(1)
    drawn = [[dice.lognormvariate(0, 0.5) for _ in range(6)] for _ in range(4000)]
    held = sum(min(six) <= 1 <= max(six) for six in drawn) / 4000
    assert coverage(6) == pytest.approx(0.969, abs=0.001)
    assert held == pytest.approx(coverage(6), abs=0.012)


def test_a_world_without_difference_is_seldom_told_one() -> None:
    """At a noise of 1 % a process, fewer than 4 of 100 comparisons of A with A find a difference."""
    dice = random.Random(2)

    def run() -> float:
        return dice.gauss(1, 0.01)

    words = [verdict(ratios([run() for _ in range(6)], [run() for _ in range(6)])).word for _ in range(2000)]
    assert sum(word != "no-difference" for word in words) / 2000 < 0.04


def test_ratios_say_how_many_times_as_fast() -> None:
    """Half the seconds, or twice the metric, is twice as fast."""
    assert ratios([2.0, 4.0], [1.0, 2.0, 9.0]) == (2.0, 2.0)
    assert ratios([2.0], [4.0], higher_is_better=True) == (2.0,)


def test_order_goes_there_and_back() -> None:
    """So that a drift hits all arms alike."""
    assert list(order(2, 3)) == [(0, 1), (1, 0), (0, 1)]


def test_the_verdict_in_words() -> None:
    """With its interval."""
    assert (
        verdict([1.05, 1.06, 1.07, 1.05, 1.06, 1.07]).sentence
        == "faster: 1.060 times as fast (+5.0% to +7.0%, 97% sure)"
    )
    assert verdict([0.99, 1.01]).sentence == "no difference shown; within -1.0% to +1.0%"
    assert verdict([1.34, 1.4] * 2).sentence == "too few pairs for a verdict; so far +34.0% to +40.0%"
    assert verdict([1.001, 1.002] * 3).sentence == "no difference shown; within +0.1% to +0.2%"
    assert "no pair" in verdict([]).sentence
