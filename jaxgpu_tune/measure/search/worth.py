"""What settings are worth, by the runs of a search: which are best, which pay, which are in doubt. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

from .estimate import USUAL, Estimate, Observed
from .failures import Failures
from .trials import NOTHING, Config, Move, Risk, is_slow

__all__ = ["CLEARLY", "Worth"]

TIE, CAUTION = 0.003, 0.5
"""A setting is left out if it is expected to gain less than TIE, or less than CAUTION standard deviations of that gain."""
CLEARLY = 0.02
"""What may hang or crash, or compiles for very long, must be faster by this than other settings, and a winner than a preset that it is held against."""
DOUBT = 2.0
"""A setting is in doubt if its gain lies within so many standard deviations of TIE. It is then left out once for a measurement."""


@dataclass(frozen=True)
class Worth:
    """What is known of settings after some runs.

    ``runs``: those that ended well; ``estimate``: from them; ``failures``: what must not be tried again; ``moves``: what is switched together;
    ``risk``: of a set of settings.
    """

    runs: tuple[Observed, ...]
    estimate: Estimate
    failures: Failures
    moves: tuple[Move, ...]
    risk: Callable[[Config], Risk]

    @cached_property
    def sound(self) -> tuple[Config, ...]:
        """The sets that ran well and hold nothing that failed, in the order of their first runs."""
        return tuple(one for one in dict.fromkeys(run.config for run in self.runs) if not self.failures.forbid(one))

    @cached_property
    def best(self) -> Config:
        """The fastest sound set by the estimate. A risky one must be clearly the fastest."""
        priced = {config: self.estimate.mean(config) + self._price(config) for config in self.sound}
        return min(priced, key=lambda config: (priced[config], len(config)), default=NOTHING)

    @cached_property
    def winner(self) -> Config:
        """The best without the settings that are not expected to pay."""
        config = self.best
        while True:
            dropped = [(self._cost_of_dropping(config, less), len(less), less) for less in self._fewer(config)]
            cost, _, less = min(dropped, key=lambda one: one[:2], default=(0.0, 0, config))
            if cost >= 0:
                return config
            config = less

    def doubtful(self, tried: Collection[Config]) -> list[Config]:
        """The best without one thing that is in doubt, for each such thing; the most doubtful first, without those that were ``tried``."""
        best, found = self.best, []
        for less in self._fewer(best):
            loss, spread = self._loss(best, less)
            sure = abs(loss - TIE) / spread if spread else math.inf
            if less not in tried and sure < DOUBT:
                found.append((sure, less))
        return [less for _, less in sorted(found, key=lambda one: one[0])]

    def parts(self, config: Config) -> list[Config]:
        """What can be left out of a set: each move in it, and each setting that is in no such move."""
        parts = [move.config for move in self.moves if move.config <= config]
        joined = frozenset(one for part in parts for one in part)
        return [*parts, *(frozenset([one]) for one in sorted(config - joined))]

    def _fewer(self, config: Config) -> list[Config]:
        """The set without one part, for each part."""
        less = dict.fromkeys(config - part for part in self.parts(config))
        return [one for one in less if not self.failures.forbid(one)]

    def _cost_of_dropping(self, config: Config, less: Config) -> float:
        """How much slower it gets with ``less`` only; below 0, what ``less`` lacks is left out. In doubt, what was never left out stays.

        The estimate adds effects up, so it knows nothing of settings that help only all together. There the runs themselves decide.
        """
        loss, spread = self._loss(config, less)
        seen = self._seen(config, config - less)
        if seen is None:
            return 0.0 if abs(loss - TIE) < DOUBT * spread else loss - TIE
        return max(loss - max(TIE, CAUTION * spread), seen - DOUBT * math.sqrt(2) * min(self.estimate.noise, USUAL))

    def _seen(self, config: Config, part: Config) -> float | None:
        """By how much a run with the part was faster than a run without it. Of all such pairs, the most like this set counts; None without any."""
        times = {run.config: run.log_ms for run in self.runs}
        with_it = [one for one in times if part <= one and one - part in times]
        nearest = min(with_it, key=lambda one: len(one ^ config), default=None)
        return None if nearest is None else times[nearest - part] - times[nearest]

    def _loss(self, config: Config, less: Config) -> tuple[float, float]:
        """By how much it is expected to get slower with ``less`` only, less what that saves of risk and compiling; and how far off that may be."""
        loss, spread = self.estimate.difference(less, config)
        return loss - (self._price(config) - self._price(less)), spread

    def _price(self, config: Config) -> float:
        """By how much a set has to be faster for its risk, and for what it compiles: every start pays that, and each further run of the search."""
        return CLEARLY * ((self.risk(config) == "dies") + is_slow(config, self.moves))
