"""A claim, and the fresh pairs of runs that it is held to. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ..statistics import PAIRS, Verdict, verdict
from .trials import Config, Trial

__all__ = ["Contest"]


class Contest(NamedTuple):
    """The fresh pairs of one claim: times of the reference and of the challenger, in milliseconds a step.

    ``failure``: why a run failed, ``failed``: of which of the two; ``length``: how many runs it took so far.
    """

    reference: Config
    challenger: Config
    pairs: tuple[tuple[float, float], ...] = ()
    over: bool = False
    failure: str = ""
    failed: Config | None = None
    length: int = 0

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as fast the challenger was, pair by pair."""
        return tuple(slow / fast for slow, fast in self.pairs)

    @property
    def verdict(self) -> Verdict:
        """By the rule of ``compare``."""
        return Verdict("failed") if self.failure else verdict(self.ratios)

    @property
    def won(self) -> bool:
        """Whether the challenger is faster."""
        return self.verdict.word == "faster"

    def turn(self, told: int) -> Config:
        """Whose turn it is after so many runs: A B B A A B B A, and so on."""
        return self.challenger if (told + 1) // 2 % 2 else self.reference

    def held(self, told: list[Trial]) -> tuple[Contest, list[Trial]]:
        """The contest with its runs, and the runs that came after it."""
        contest, first = self, None
        for number, trial in enumerate(told, start=1):
            contest = contest._replace(length=number)
            if not trial.well:
                why = trial.failure or "failed"
                return contest._replace(over=True, failure=why, failed=trial.config), told[number:]
            assert trial.ms is not None
            if first is None:
                first = trial.ms
                continue
            pair = (trial.ms, first) if trial.config == self.reference else (first, trial.ms)
            contest, first = contest._replace(pairs=(*contest.pairs, pair)), None
            if contest.ratios[-1] <= 1 or len(contest.pairs) == PAIRS:
                return contest._replace(over=True), told[number:]
        return contest, []
