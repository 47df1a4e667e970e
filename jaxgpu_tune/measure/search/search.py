"""The search itself: which settings to run next, and what the answer is.

Runs are few, dear and noisy. So the search starts at no settings and at the presets that fit, tries one change at a time from the
best so far, takes from its own measurements nothing but where to look, leaves out what does not pay, and claims a gain only by
fresh pairs of runs at the end. It holds no clock and starts nothing: ``ask`` gives the next step, ``tell`` takes what came of it,
in whatever process, so that a simulation, a journal of an earlier start and real runs drive the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from ..statistics import PAIRS
from .contest import Contest
from .estimate import USUAL, Estimate, Observed, estimated
from .failures import Failures
from .trials import NOTHING, SAME, Config, Move, Risk, Start, Step, Trial, toggled

__all__ = ["Contest", "Search"]

TIE, CAUTION = 0.003, 0.5
"""A setting is left out if it is expected to give less than this, or less than so many standard deviations of what is known of it."""
HOPE = 0.0007
"""A change whose expected improvement is below this is not tried any more."""
CLEARLY = 0.02
"""The winner is compared with the best preset only where it seems faster than that by this; else with no settings.
What may hang or crash has to be faster by as much than what may not."""
DOUBT = 2.0
"""A setting is left out once for a measurement if its worth lies within so many standard deviations of nothing."""

IN_A_ROW = 3
"""Where the program fails as it is, too, a run of a check that fails like that is made again. After so many in a row the check has failed."""
SPARE, BEGUN = 1, 1.6
"""SPARE runs are kept back, since some take longer than usual. A check that was begun goes on where up to BEGUN runs of it have no room."""


class Search:
    """What was tried, and what follows from it.

    ``starts``: the first is what the program does without any setting of ours. ``moves``: the most promising first.
    ``risk``: what is known of a set of settings.
    """

    def __init__(
        self, starts: Sequence[Start], moves: Sequence[Move], risk: Callable[[Config], Risk] = lambda _: "none"
    ) -> None:
        self.starts = tuple(starts)
        self.moves = tuple(moves)
        self.risk = lru_cache(maxsize=None)(risk)
        self.trials: list[Trial] = []
        self._failures = Failures()
        self._runs: list[Observed] = []
        self._inert: set[Config] = set()
        self._closing = False
        self._lost: tuple[Contest, ...] = ()  # the claims before and with the last one that failed
        self._checks: list[Trial] = []  # of the claims since then
        self._own_failures: set[str] = set()
        self._in_a_row = 0
        self._one_claim = False  # where two cannot be paid for: against the program as it is
        self._large = frozenset(one for move in moves if move.large for one in move.config)
        self._estimate: Estimate | None = None

    def tell(self, trial: Trial) -> None:
        """Take in what came of a run."""
        self.trials.append(trial)
        self._closing |= trial.purpose in ("prune", "check")
        if not trial.well and trial.config == self.starts[0].config:
            self._own_failures.add(trial.failure)
        if trial.purpose == "check":
            self._tell_check(trial)
        elif trial.failure == SAME:
            self._inert |= {move.config for move in self.moves if toggled(self.best, move) == trial.config}
        elif trial.well:
            self._runs.append(Observed(trial.config, math.log(trial.ms or 0.0)))
        elif trial.failure not in self._own_failures:  # what the program does as it is blames no setting
            self._failures = self._failures.learnt(trial.config, self.good)

    def _tell_check(self, trial: Trial) -> None:
        """A run of a claim; one that fails as the program does as it is says nothing and is made again."""
        self._in_a_row = 0 if trial.well else self._in_a_row + 1
        if trial.failure in self._own_failures and self._in_a_row < IN_A_ROW:
            return
        self._checks.append(trial)
        if len(self._checks) == 1:  # it tells what the first claim is held against
            self._one_claim = trial.config == self.starts[0].config
        if not trial.well and trial.config != self.starts[0].config:
            self._lost, self._checks = tuple(contest for contest in self.contests if contest.over), []
            self._failures = self._failures.learnt(trial.config, self.good)
            self._closing = False

    def ask(self, left: float, new: float = 1.0, hang: float = 1.0, width: int = 1) -> Step | None:
        """The next step; None: the search is over.

        Costs are counted in runs of settings that ran before. ``left``: what the budget still has. ``new``: what a run of new settings costs.
        ``hang``: what a run costs that hangs. ``width``: how many runs go side by side.
        """
        start = self._start()
        if not self._runs:
            return start if left >= 1 else None
        room = left - self._reserve(new, width) - SPARE
        if start is not None and (room >= new or not self._provable(left)):
            return start if left >= 1 else None
        if not self._closing and room >= new and (config := self._change(room, new, hang)) is not None:
            return Step(config, "toggle", self._programs(config))
        if not self._checks and left >= 2 * PAIRS + new + SPARE:
            config = self._doubtful()
            if config is not None:
                return Step(config, "prune")
        return self._check(left)

    def expecting(self, step: Step, seconds: float = 0.0) -> Search:
        """Another search that was told what is expected of a step; to look ahead. Needs a run that ended well."""
        other = Search(self.starts, self.moves, self.risk)
        ms = math.exp(self.estimate.mean(step.config))
        other._estimate = self.estimate
        for trial in (*self.trials, Trial(step.config, step.purpose, ms, "", seconds)):
            other.tell(trial)
        return other

    @property
    def estimate(self) -> Estimate:
        """Of the search's own runs. Raises ValueError before any ended well."""
        if self._estimate is None or self._estimate.told < len(self._runs):
            self._estimate = estimated(self._runs, self._large, self._estimate)
        return self._estimate

    @property
    def ms_as_it_is(self) -> float | None:
        """What the program takes without settings of ours, of its first runs the fastest: the very first may have been slow."""
        first = self.starts[0].config
        told = [one.ms for one in self.trials if one.purpose == "start" and one.config == first and one.ms is not None]
        return min(told, default=None)

    @property
    def good(self) -> frozenset[Config]:
        """What ran well."""
        return frozenset(run.config for run in self._runs)

    @property
    def best(self) -> Config:
        """The fastest so far by the estimate, among what ran well and never failed; risky only where it is clearly the fastest."""
        sound = [
            config for config in dict.fromkeys(run.config for run in self._runs) if not self._failures.forbid(config)
        ]
        priced = {config: self.estimate.mean(config) + self._price(config) for config in sound}
        return min(sound, key=lambda config: (priced[config], len(config)), default=NOTHING)

    @property
    def winner(self) -> Config:
        """The best without the settings that are not expected to pay."""
        config = self.best
        while True:
            dropped = [(self._worth(config, less), len(less), less) for less in self._fewer(config)]
            loss, _, less = min(dropped, key=lambda one: one[:2], default=(0.0, 0, config))
            if loss >= 0:
                return config
            config = less

    @property
    def contests(self) -> tuple[Contest, ...]:
        """The claims that are checked: the winner against the best of the starts; if it is not faster, the best start against the first.

        Where one ended in a hang or a crash, what failed is out, and the search goes on.
        """
        found, told = list(self._lost), self._checks
        for reference, challenger in self._claims():
            contest, told = Contest(reference, challenger).held(told)
            found.append(contest)
            if contest.won or not contest.over:
                break
        return tuple(found)

    def _claims(self) -> Iterator[tuple[Config, Config]]:
        """(reference, challenger): only by the search's own runs, so that what a check finds does not choose what it checks."""
        winner, first = self.winner, self.starts[0].config
        sound = [one.config for one in self.starts if one.config in self.good and not self._failures.forbid(one.config)]
        known = [config for config in sound if config != winner]
        if winner == first or not known:
            return
        reference = min(known, key=self.estimate.mean)
        clearly = not self._one_claim and self.estimate.difference(reference, winner)[0] >= CLEARLY
        if reference == first or first not in known or clearly:
            yield reference, winner
            winner = reference
        if winner != first and first in known:
            yield first, winner

    def _provable(self, left: float) -> bool:
        """Whether there is something to claim, and its check can be paid for."""
        return left >= 2 * PAIRS and next(self._claims(), None) is not None

    def _start(self) -> Step | None:
        """The starts, and the first twice: so it is known what a run costs that compiles nothing, and how far runs differ."""
        tried = [trial.config for trial in self.trials]
        first, *others = (one.config for one in self.starts)
        wanted = [first] if tried.count(first) < 2 else others
        config = next((one for one in wanted if one == first or one not in tried), None)
        return None if config is None or self._closing else Step(config, "start")

    def _reserve(self, new: float, width: int) -> float:
        """Runs that the end needs: the check, and leaving out what is in doubt."""
        return 2 * PAIRS + new * math.ceil(len(list(self._doubts(self.best))) / width)

    def _change(self, room: float, new: float, hang: float) -> Config | None:
        """The most promising change of one thing from the best so far.

        Risky changes come after all others: those known for large effects, before there is no more room for them, while a hang can be paid for;
        others only while a second check can be paid for, too, since they may hang in theirs.
        """
        best, tried = self.best, {trial.config for trial in self.trials}
        moves = [move for move in self.moves if move.config not in self._inert]
        changes = [config for move in moves for config in self._changes(best, move) if config not in tried]
        sound = [config for config in changes if not self._failures.forbid(config)]
        risky = [config for config in sound if self.risk(config) == "dies"] if room >= hang else []
        large = [config for config in risky if config - best & self._large]
        last = large if room < hang + 2 * new else []
        risky = risky if room >= hang + 2 * PAIRS else large
        for some in (last, [config for config in sound if self.risk(config) == "none"], risky):
            hopes = [(self.estimate.improvement(one, best), one) for one in some]
            hope, found = max(hopes, key=lambda one: one[0], default=(0.0, best))
            if hope >= HOPE:
                return found
        return None

    def _changes(self, best: Config, move: Move) -> Iterator[Config]:
        """What a move leads to from the best so far. Where the two are risky together, also the move in the place of what it is risky with."""
        changed = toggled(best, move)
        yield changed
        if self.risk(changed) != "none" and not move.config <= best:
            yield from (less for part in self._parts(best) if self.risk(less := toggled(best - part, move)) == "none")

    def _programs(self, config: Config) -> frozenset[str]:
        """What was compiled for sets that differ from this one in nothing but what the compiled program shows."""
        shown = frozenset(one for move in self.moves if move.seen for one in move.config)
        alike = (trial for trial in self.trials if trial.ms is not None and trial.config - shown == config - shown)
        return frozenset(trial.program for trial in alike if trial.program)

    def _fewer(self, config: Config) -> list[Config]:
        """The set without one thing, for each thing in it."""
        less = dict.fromkeys(config - part for part in self._parts(config))
        return [one for one in less if not self._failures.forbid(one)]

    def _parts(self, config: Config) -> list[Config]:
        """What can be left out of a set: each of its moves, and what is in none."""
        parts = [move.config for move in self.moves if move.config <= config]
        joined = frozenset(one for part in parts for one in part)
        return [*parts, *(frozenset([one]) for one in sorted(config - joined))]

    def _worth(self, config: Config, less: Config) -> float:
        """What the settings that ``less`` lacks are worth; below 0 they are left out. In doubt, what was never left out is kept.

        The estimate adds effects up, so it knows nothing of settings that help only all together. There the runs themselves decide.
        """
        loss, spread = self.estimate.difference(less, config)
        loss -= self._price(config) - self._price(less)
        seen = self._seen(config, config - less)
        if seen is None:
            return 0.0 if abs(loss - TIE) < DOUBT * spread else loss - TIE
        return max(loss - max(TIE, CAUTION * spread), seen - DOUBT * math.sqrt(2) * min(self.estimate.noise, USUAL))

    def _seen(self, config: Config, part: Config) -> float | None:
        """By how much a run with the part was faster than the run without it, of the two runs that are most like this set; None without such runs."""
        times = {run.config: run.log_ms for run in self._runs}
        with_it = [one for one in times if part <= one and one - part in times]
        nearest = min(with_it, key=lambda one: len(one ^ config), default=None)
        return None if nearest is None else times[nearest - part] - times[nearest]

    def _price(self, config: Config) -> float:
        """By how much it has to be faster for its risk."""
        return CLEARLY if self.risk(config) == "dies" else 0.0

    def _doubts(self, config: Config) -> Iterator[tuple[float, Config]]:
        """What to leave out for a measurement, with how sure it is already."""
        tried = {trial.config for trial in self.trials}
        for less in self._fewer(config):
            mean, spread = self.estimate.difference(less, config)
            sure = abs(mean - TIE) / spread if spread else math.inf
            if less not in tried and sure < DOUBT:
                yield sure, less

    def _doubtful(self) -> Config | None:
        """What to measure before the check: what is in doubt most, then what is to be checked itself."""
        doubts = sorted(self._doubts(self.best), key=lambda one: one[0])
        if doubts:
            return doubts[0][1]
        winner = self.winner
        return None if any(trial.config == winner for trial in self.trials) else winner

    def _check(self, left: float) -> Step | None:
        if not self._checks:
            self._one_claim = left < 4 * PAIRS
        contests = self.contests
        if not contests or contests[-1].over:
            return None
        contest = contests[-1]
        if left < 2 * PAIRS - contest.length - (BEGUN if contest.length else 0):
            return None
        return Step(contest.turn(contest.length), "check")
