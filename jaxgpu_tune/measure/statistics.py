"""What pairs of runs say about two variants. Pure.

The process is the unit: a ratio comes from two processes that ran one after the other. From the smallest to the largest
of n ratios is an interval that holds their median with a probability of 1 - 2 x 0.5^n, whatever their distribution: 97 % for six.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal

from ..values import Value

Word = Literal["faster", "slower", "no-difference", "failed"]


__all__ = ["LEAST", "PAIRS", "Verdict", "coverage", "futile", "order", "ratios", "unclaimed", "verdict"]

PAIRS = 6
LEAST = 0.005
"""The smallest median difference that is called one: below it, machines differ from themselves."""


class Verdict(Value):
    """What the pairs say. ``ratio``: how many times as fast as the reference (above 1: faster), the median of the pairs.

    ``interval``: smallest to largest ratio, which holds the true median with probability ``coverage``.
    ``ratio`` and ``interval`` are None where no pair was finished.
    """

    word: Word
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    coverage: float = 0.0

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.ratio is None or self.interval is None:
            return "no pair was measured"
        low, high = self.interval
        within = f"{_percent(low)} to {_percent(high)}" if low != high else _percent(low)
        if self.word == "no-difference" and self.coverage < coverage(PAIRS) and not low <= 1 <= high:
            return f"too few pairs for a verdict; so far {within}"
        if self.word == "no-difference":
            return f"no difference shown; within {within}"
        return f"{self.word}: {self.ratio:.3f} times as fast ({within}, {self.coverage:.0%} sure)"


def ratios(
    reference: Sequence[float], variant: Sequence[float], *, higher_is_better: bool = False
) -> tuple[float, ...]:
    """How many times as fast the variant was, pair by pair. Values are seconds, or a metric of which more is better."""
    pairs = zip(reference, variant, strict=False)
    return tuple(mine / other if higher_is_better else other / mine for other, mine in pairs)


def coverage(pairs: int) -> float:
    """The probability that smallest to largest of that many ratios holds their true median."""
    return 1 - 2 * 0.5**pairs if pairs else 0.0


def verdict(found: Sequence[float], *, pairs: int = PAIRS) -> Verdict:
    """Faster or slower only if there are enough pairs, all agree, and the median differs by at least ``LEAST``."""
    if not found:
        return Verdict("failed")
    middle, low, high = median(found), min(found), max(found)
    word: Word = "no-difference"
    if len(found) >= pairs and low > 1 and middle >= 1 + LEAST:
        word = "faster"
    elif len(found) >= pairs and high < 1 and middle <= 1 / (1 + LEAST):
        word = "slower"
    return Verdict(word, middle, (low, high), coverage(len(found)))


def unclaimed(found: Verdict) -> Verdict:
    """The verdict on a variant that is set as its reference: in one of 32 comparisons six pairs of equals agree."""
    return found if found.word == "failed" else found._replace(word="no-difference")


def futile(found: Sequence[float]) -> bool:
    """Whether more pairs cannot lead to a difference any more: two of them disagree about the direction."""
    return bool(found) and min(found) <= 1 <= max(found)


def order(arms: int, pairs: int) -> Iterator[tuple[int, ...]]:
    """The order of the arms, round by round: there and back again (A B, B A, …), so that a drift hits all alike."""
    there = tuple(range(arms))
    return (there if number % 2 == 0 else there[::-1] for number in range(pairs))


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}%"
