"""The search itself: which settings to run next, and what the answer is.

Runs are few, dear and noisy. So the search starts at no settings and at the presets that fit. It tries one change at a time from the
best so far. It leaves out what does not pay. Its own runs tell it where to look, and no more: a gain is claimed only by fresh pairs of
runs at the end.

It holds no clock and starts nothing: ``ask`` gives the next step, ``tell`` takes what came of it. So a simulation, a journal of an earlier
start and real runs drive the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import lru_cache, partial

from ..statistics import PAIRS
from .claims import Checks, claims
from .contest import Contest
from .estimate import Estimate, Observed, estimated
from .failures import Failures
from .trials import NOTHING, SAME, Config, Move, Risk, Start, Step, Trial, is_slow, toggled
from .worth import Worth

__all__ = ["PROOF", "SLOW", "Search"]

HOPE = 0.0007
"""A change whose expected improvement is below this is not tried."""
PROOF = 2 * PAIRS
"""Runs that one claim takes."""
SPARE = 1
"""Runs that are kept back, since some take longer than usual."""
SLOW = 10.0
"""What is known to compile for very long takes up to so many usual runs of new settings."""
BEGUN = 1.0
"""A check that was begun goes on where up to so many of its runs have no room."""

Price = Callable[[Config], float]
"""What a run of new settings costs, in runs of settings that ran before."""


class Search:
    """What was tried, and what follows from it.

    ``starts``: the first is the program as it is. ``moves``: the most promising first. ``risk``: what is known of a set of settings.
    """

    def __init__(
        self, starts: Sequence[Start], moves: Sequence[Move], risk: Callable[[Config], Risk] = lambda _: "none"
    ) -> None:
        self.starts = tuple(starts)
        self.moves = tuple(moves)
        self.risk = lru_cache(maxsize=None)(risk)
        self.trials: list[Trial] = []  # this and what follows is replaced, never changed: copies share it
        self._runs: tuple[Observed, ...] = ()
        self._failures = Failures()
        self._inert: frozenset[Config] = frozenset()  # moves that change nothing of what is compiled
        self._checks = Checks()
        self._closing = False  # no more changes are tried
        self._large = frozenset(one for move in moves if move.large for one in move.config)
        self._estimate: Estimate | None = None

    def tell(self, trial: Trial) -> None:
        """Take in what came of a run."""
        self.trials = [*self.trials, trial]
        self._closing |= trial.purpose in ("prune", "check")
        if not trial.well and trial.config == NOTHING:
            self._failures = self._failures.of_program(trial.failure)
        if trial.purpose == "check":
            self._tell_check(trial)
        elif trial.failure == SAME:
            self._inert |= {move.config for move in self.moves if toggled(self.best, move) == trial.config}
        elif trial.well:
            self._runs = (*self._runs, Observed(trial.config, math.log(trial.ms or 0.0)))
        elif trial.failure not in self._failures.own:
            self._failures = self._failures.learnt(trial.config, self.good)

    def _tell_check(self, trial: Trial) -> None:
        """A run of a claim. Where settings fail in it, they are out, and the search goes on."""
        before = self._checks
        self._checks = before.told(trial, self._failures.own)
        if trial.well or trial.config == NOTHING or self._checks.runs == before.runs:
            return
        self._checks = self._checks.anew(self.contests)
        self._failures = self._failures.learnt(trial.config, self.good)
        self._closing = False

    def ask(self, left: float, new: float = 1.0, hang: float = 1.0, width: int = 1, slow: float = SLOW) -> Step | None:
        """The next step; None: the search is over.

        All costs are counted in runs of settings that ran before.

        Args:
            left: What the budget still has.
            new: What a run of new settings costs.
            hang: What a run costs that hangs.
            width: How many runs go side by side.
            slow: How many usual runs of new settings one costs that compiles for very long.
        """
        start = self._start()
        if not self._runs:
            return start if left >= 1 else None
        price = partial(self._price, new, new * slow)
        room = left - self._reserve(price, width) - SPARE
        if start is not None and (room >= price(start.config) or not self._provable(left)):
            return start if left >= (1 if start.config == NOTHING else price(start.config)) else None
        if not self._closing and room >= new and (config := self._change(room, price, hang)) is not None:
            return Step(config, "toggle", self._programs(config))
        if not self._checks.runs and (config := self._doubtful(left - PROOF - SPARE, price)) is not None:
            return Step(config, "prune")
        return self._check(left)

    def expecting(self, step: Step, seconds: float = 0.0) -> Search:
        """Another search that was told what is expected of a step; to look ahead."""
        other = copy(self)
        other.tell(Trial(step.config, step.purpose, math.exp(self.estimate.mean(step.config)), "", seconds))
        return other

    @property
    def estimate(self) -> Estimate:
        """Of the search's own runs."""
        if self._estimate is None or self._estimate.told < len(self._runs):
            self._estimate = estimated(self._runs, self._large, self._estimate)
        return self._estimate

    @property
    def ms_as_it_is(self) -> float | None:
        """What the program takes without settings of ours, of its first runs the fastest: the very first may have been slow."""
        told = (one.ms for one in self.trials if one.purpose == "start" and one.config == NOTHING)
        return min((ms for ms in told if ms is not None), default=None)

    @property
    def good(self) -> frozenset[Config]:
        """What ran well."""
        return frozenset(run.config for run in self._runs)

    @property
    def best(self) -> Config:
        """The fastest so far, by the estimate."""
        return self._worth.best

    @property
    def winner(self) -> Config:
        """The best without the settings that are not expected to pay."""
        return self._worth.winner

    def is_slow(self, config: Config) -> bool:
        """Whether it holds something that is known to compile for very long."""
        return is_slow(config, self.moves)

    @property
    def is_proving(self) -> bool:
        """Whether a claim is open of which runs were made."""
        contest = self.contests[-1] if self._checks.runs and self.contests else None
        return contest is not None and contest.length > 0 and not contest.over

    @property
    def contests(self) -> tuple[Contest, ...]:
        """The claims that are checked, one after the other. Where settings failed in one, the search went on after it."""
        return self._checks.contests(self._claims())

    @property
    def _tried(self) -> set[Config]:
        return {trial.config for trial in self.trials}

    @property
    def _worth(self) -> Worth:
        return Worth(self._runs, self.estimate, self._failures, self.moves, self.risk)

    def _claims(self) -> Iterator[Contest]:
        return claims(self.starts, self._worth, self._checks.single)

    def _provable(self, left: float) -> bool:
        """Whether there is something to claim, and its check can be paid for."""
        return left >= PROOF and next(self._claims(), None) is not None

    def _start(self) -> Step | None:
        """The starts, and the first twice: so it is known what a run costs that compiles nothing, and how far runs differ."""
        tried = [trial.config for trial in self.trials]
        others = (one.config for one in self.starts if one.config not in tried)
        config = NOTHING if tried.count(NOTHING) < 2 else next(others, None)
        return None if config is None or self._closing else Step(config, "start")

    def _price(self, new: float, slow: float, config: Config) -> float:
        return slow if self.is_slow(config) else new

    def _reserve(self, price: Price, width: int) -> float:
        """Runs that the end needs: the check, and leaving out what is in doubt."""
        doubtful = self._worth.doubtful(self._tried)
        return PROOF + max(map(price, doubtful), default=0.0) * math.ceil(len(doubtful) / width)

    def _change(self, room: float, price: Price, hang: float) -> Config | None:
        """The most promising change of one thing from the best so far.

        Risky changes come after all others, and only while a hang can be paid for. Those known for large effects come before there is no more
        room for them. Others need room for a second check, too, since they may hang in theirs.
        """
        worth = self._worth
        untried = [config for config in self._untried(worth) if room >= price(config)]
        safe = [config for config in untried if self.risk(config) == "none"]
        risky = [config for config in untried if self.risk(config) == "dies"] if room >= hang else []
        large = [config for config in risky if (config - worth.best) & self._large]
        last_chance = large if room < hang + 2 * price(NOTHING) else []
        for some in (last_chance, safe, risky if room >= hang + PROOF else large):
            hopes = [(worth.estimate.improvement(one, worth.best), one) for one in some]
            hope, found = max(hopes, key=lambda one: one[0], default=(0.0, worth.best))
            if hope >= HOPE:
                return found
        return None

    def _untried(self, worth: Worth) -> list[Config]:
        """What each move leads to from the best so far, but for what was tried and what holds something that failed."""
        moves = (move for move in self.moves if move.config not in self._inert)
        changes = [config for move in moves for config in self._changes(worth, move)]
        tried = self._tried
        return [config for config in changes if config not in tried and not self._failures.forbid(config)]

    def _changes(self, worth: Worth, move: Move) -> Iterator[Config]:
        """The best so far with the move or without it. Where that is risky, also with the move in the place of what it is risky with."""
        best, changed = worth.best, toggled(worth.best, move)
        yield changed
        if self.risk(changed) != "none" and not move.config <= best:
            yield from (less for part in worth.parts(best) if self.risk(less := toggled(best - part, move)) == "none")

    def _programs(self, config: Config) -> frozenset[str]:
        """What was compiled for sets that differ from this one in nothing but what the compiled program shows."""
        shown = frozenset(one for move in self.moves if move.seen for one in move.config)
        alike = (trial for trial in self.trials if trial.ms is not None and trial.config - shown == config - shown)
        return frozenset(trial.program for trial in alike if trial.program)

    def _doubtful(self, room: float, price: Price) -> Config | None:
        """What to measure before the check: what is in doubt most, then what is to be checked itself."""
        tried = self._tried
        untried = (one for one in (*self._worth.doubtful(tried), self.winner) if one not in tried)
        return next((one for one in untried if room >= price(one)), None)

    def _check(self, left: float) -> Step | None:
        """The next run of the claim that is open, where the rest of its runs has room."""
        if not self._checks.runs:
            self._checks = self._checks._replace(single=left < 2 * PROOF)
        contest = self.contests[-1] if self.contests else None
        if contest is None or contest.over:
            return None
        if left < PROOF - contest.length - (BEGUN if contest.length else 0):
            return None
        return Step(contest.turn(contest.length), "check")
