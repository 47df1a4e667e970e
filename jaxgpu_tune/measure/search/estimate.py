"""How fast each set of settings is, estimated from all runs so far.

One run is one noisy number. Who keeps whatever once looked faster keeps the luckiest. So the runs are smoothed together, by a Gaussian
process whose kernel counts what two sets share. The logarithm of a time is the sum of a level that drifts, a small effect of each setting (a
large one of few), a smaller one of each pair, and noise. Runs that lie far off weigh less.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from operator import mul, sub
from typing import NamedTuple

from .trials import Atom, Config

__all__ = ["Estimate", "Observed", "estimated"]

LEVEL, EFFECT, PAIR, OWN, DRIFT = 0.05, 0.035, 0.01, 0.003, 0.001
"""Standard deviations of logarithms, before anything was measured: of the level, of one setting's effect, of a pair's beyond
its settings', of one set's own, and of the drift from one run to the next."""
LARGE, FEW, EVIDENCE = (0.1, 0.4), 4, 2.0
"""Now and then one setting changes everything. FEW at most have an effect of such a size, and only where the runs get likelier by this (logarithm)."""
KNOWN = 0.25
"""The effect of what is known for large ones. It was 1.32 on one program, 1.7 on another, nothing on a third."""
NOISES = (0.0015, 0.003, 0.006, 0.012, 0.025, 0.06)
"""The noise of one run is the likeliest of these."""
USUAL = 0.008
"""The noise that is likeliest beforehand. Another is the less likely the further it is from this, so a few lucky runs do not pass for exact ones."""
WORST = 0.1
"""What is slower than the first settings by more than this is just slow: how slow teaches nothing about the others.
A run that is slower by this than another of the same settings does not count."""
FAR, ROUNDS = 2.0, 2
"""A run that is further off than FAR standard deviations weighs less; how much is computed in so many rounds."""

Rows = list[list[float]]
Scales = Mapping[Atom, float]


class Observed(NamedTuple):
    """A run that ended well: what it ran and the logarithm of its time."""

    config: Config
    log_ms: float


class Estimate(NamedTuple):
    """What the runs tell: ``noise`` of one run, ``scales`` of the settings with large effects; ``mean`` and ``difference`` of any sets.

    ``fits``: what was computed on the way, for the estimate after the next run. ``rows``: what sets that were asked about share with the runs.
    ``runs``: those that count, of ``told``.
    """

    runs: tuple[Observed, ...]
    scales: Scales
    noise: float
    centre: float
    lower: Rows
    weights: list[float]
    fits: tuple[_Fit, ...]
    rows: dict[Config, list[float]]
    told: int

    def mean(self, config: Config) -> float:
        """The expected logarithm of the time, free of drift."""
        return self.centre + float(sum(map(mul, self._row(config), self.weights)))

    def difference(self, config: Config, other: Config) -> tuple[float, float]:
        """Mean and standard deviation of ``config``'s logarithm less ``other``'s."""
        scales = self.scales
        shared = list(map(sub, self._row(config), self._row(other)))
        own = _kernel(config, config, scales) + _kernel(other, other, scales) - 2 * _kernel(config, other, scales)
        white = _forward(self.lower, shared, ())
        return float(sum(map(mul, shared, self.weights))), math.sqrt(max(own - sum(map(mul, white, white)), 0.0))

    def improvement(self, config: Config, best: Config) -> float:
        """By how much ``config`` is expected to be faster than ``best`` where it is; a slower one counts as none."""
        mean, spread = self.difference(config, best)
        if spread == 0:
            return max(-mean, 0.0)
        z = -mean / spread
        return spread * (z * _below(z) + math.exp(-z * z / 2) / math.sqrt(2 * math.pi))

    def _row(self, config: Config) -> list[float]:
        if config not in self.rows:
            self.rows[config] = _row(config, self.runs, self.scales)
        return self.rows[config]


class _Factor(NamedTuple):
    """Under one noise of all runs: the triangle, and the values in its terms."""

    noise: float
    lower: Rows
    white: list[float]
    chance: float
    """The logarithm of the values' probability, but for a constant."""

    def grown(self, same: int, shared: Rows, values: Sequence[float]) -> _Factor:
        """Of more runs, of which the first ``same`` are those of this one."""
        lower = _cholesky(shared, [self.noise] * len(values), self.lower[:same])
        white = _forward(lower, values, self.white[:same])
        usual = math.log(self.noise / USUAL) ** 2 / 2
        chance = -sum(map(mul, white, white)) / 2 - sum(math.log(row[-1]) for row in lower) - usual
        return _Factor(self.noise, lower, white, chance)


class _Fit(NamedTuple):
    """Under some scales: what the runs share, and a factor for each noise."""

    scales: Scales
    runs: tuple[Observed, ...]
    shared: Rows
    factors: tuple[_Factor, ...]

    @property
    def best(self) -> _Factor:
        """That of the likeliest noise."""
        return max(self.factors, key=lambda one: (one.chance, one.noise))

    def grown(self, runs: tuple[Observed, ...], values: Sequence[float]) -> _Fit:
        """Of other runs; what concerns those that both begin with is not computed again."""
        same = next(
            (place for place, (one, other) in enumerate(zip(self.runs, runs, strict=False)) if one != other),
            min(len(self.runs), len(runs)),
        )
        shared = self.shared[:same]
        for place in range(same, len(runs)):
            row = _row(runs[place].config, runs[: place + 1], self.scales)
            shared.append([one + DRIFT**2 * number for number, one in enumerate(row, 1)])
        return _Fit(self.scales, runs, shared, tuple(one.grown(same, shared, values) for one in self.factors))


class _Fits:
    """The fits of some runs, each made once."""

    def __init__(self, runs: tuple[Observed, ...], values: Sequence[float], before: Sequence[_Fit]) -> None:
        self.runs, self.values, self.before = runs, values, before
        self.made: list[_Fit] = []

    def under(self, scales: Scales) -> _Fit:
        """The fit under these scales."""
        new = _Fit(scales, (), [], tuple(_Factor(noise, [], [], 0.0) for noise in NOISES))
        known = next((one for one in self.before if one.scales == scales), new)
        self.made.append(known.grown(self.runs, self.values))
        return self.made[-1]


def estimated(runs: Sequence[Observed], large: Collection[Atom] = (), before: Estimate | None = None) -> Estimate:
    """The estimate from runs in the order in which they were made; from none, it is what is thought of settings beforehand.

    ``large``: settings known for large effects. ``before``: the estimate of some of the runs, whose work is gone on with; the result is the same.
    """
    fastest: dict[Config, float] = {}
    for run in runs:
        fastest[run.config] = min(run.log_ms, fastest.get(run.config, run.log_ms))
    centre = fastest[runs[0].config] if runs else 0.0  # not the centre of all: most may have what changed everything
    clipped = tuple(
        Observed(run.config, min(run.log_ms, centre + WORST))
        for run in runs
        if run.log_ms <= fastest[run.config] + WORST  # the very first may have been slow, and so any other
    )
    values = [run.log_ms - centre for run in clipped]
    fits = _Fits(clipped, values, before.fits if before and before.centre == centre else ())
    fit = _fitted(fits, dict.fromkeys(large, KNOWN))
    noise, lower, white, _ = fit.best
    spreads, weights = [noise] * len(values), _backward(lower, white)
    for _ in range(ROUNDS):
        left = [weight * spread**2 for weight, spread in zip(weights, spreads, strict=True)]
        spreads = [noise * math.sqrt(max(1.0, abs(one) / (FAR * noise))) for one in left]
        lower = _cholesky(fit.shared, spreads, [])
        weights = _backward(lower, _forward(lower, values, ()))
    return Estimate(clipped, fit.scales, noise, centre, lower, weights, tuple(fits.made), {}, len(runs))


def _fitted(fits: _Fits, known: Scales) -> _Fit:
    """First all settings but those ``known`` have small effects, then one after the other that strains this is given a large one."""
    fit = fits.under(known)
    for _ in range(FEW):
        strained = _most_strained(fit)
        if strained is None:
            return fit
        wider = max((fits.under({**fit.scales, strained: large}) for large in LARGE), key=lambda one: one.best.chance)
        if wider.best.chance < fit.best.chance + EVIDENCE:
            return fit
        fit = wider
    return fit


def _most_strained(fit: _Fit) -> Atom | None:
    """The setting of small effect whose estimate is the furthest from nothing."""
    weights = _backward(fit.best.lower, fit.best.white)
    found: dict[Atom, float] = {}
    for run, weight in zip(fit.runs, weights, strict=True):
        for one in run.config - fit.scales.keys():
            found[one] = found.get(one, 0.0) + weight
    return max(sorted(found), key=lambda one: abs(found[one]), default=None)


def _row(config: Config, runs: Sequence[Observed], scales: Scales) -> list[float]:
    """How much a set's time varies together with each run's."""
    return [_kernel(config, run.config, scales) for run in runs]


def _kernel(a: Config, b: Config, scales: Scales) -> float:
    """How much two sets' times vary together."""
    common = a & b
    found = _small(len(common))
    if common and scales:
        for one, scale in scales.items():
            if one in common:
                found += scale * scale - EFFECT**2
    return found + OWN**2 if a == b else found


@cache
def _small(count: int) -> float:
    """What two sets share by the level and ``count`` common settings, if all effects are small."""
    return float(LEVEL**2 + EFFECT**2 * count + PAIR**2 * count * (count - 1) / 2)


def _cholesky(shared: Rows, spreads: Sequence[float], begun: Rows) -> Rows:
    """The lower triangle whose product with its own transpose is ``shared`` and the squares of ``spreads`` on the diagonal; ``begun``: its first rows."""
    lower = list(begun)
    for row, spread in zip(shared[len(begun) :], spreads[len(begun) :], strict=True):
        made = _forward(lower, row[:-1], [])
        made.append(math.sqrt(row[-1] + spread**2 - sum(map(mul, made, made))))
        lower.append(made)
    return lower


def _forward(lower: Rows, values: Sequence[float], begun: Sequence[float]) -> list[float]:
    """What the triangle makes the values of; ``begun``: the first of it."""
    found = list(begun)
    for row, value in zip(lower[len(begun) :], values[len(begun) :], strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    return found


def _backward(lower: Rows, values: Sequence[float]) -> list[float]:
    """What the transposed triangle makes the values of."""
    left, found = list(values), []
    for row in reversed(lower):
        found.append(left[-1] / row[-1])
        left = [value - one * found[-1] for value, one in zip(left[:-1], row[:-1], strict=True)]
    return found[::-1]


def _below(z: float) -> float:
    return (1 + math.erf(z / math.sqrt(2))) / 2
