"""How fast each set of settings is, estimated from all runs so far.

One run is one noisy number, and keeping whatever once looked faster keeps the luckiest. So the runs are smoothed together: the
logarithm of a time is a level that drifts, a small effect of each setting (a large one of few), a smaller one of each pair, and noise:
a Gaussian process whose kernel counts what two sets share. Runs that lie far off weigh less.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from .trials import Atom, Config

__all__ = ["Estimate", "Observed", "estimated"]

LEVEL, EFFECT, PAIR, OWN, DRIFT = 0.05, 0.035, 0.01, 0.003, 0.001
"""Standard deviations of logarithms, before anything was measured: of the level, of one setting's effect, of a pair's beyond
its settings', of one set's own, and of the drift from one run to the next."""
LARGE, FEW, EVIDENCE = (0.1, 0.4), 4, 2.0
"""Now and then one setting changes everything: few have an effect of this size, where it makes the runs so much likelier (logarithm)."""
KNOWN = 0.25
"""The effect of what is known for large ones: 1.33 on one program, 1.4 on another, nothing on a third."""
NOISES = (0.0015, 0.003, 0.006, 0.012, 0.025, 0.06)
"""Of one run's noise: the likeliest of these."""
USUAL = 0.008
"""What it mostly is; how likely another is falls with its factor to this, so that a few lucky runs do not pass for exact ones."""
WORST = 0.1
"""What is slower than the first run by more than this is just slow; how slow teaches nothing about the others."""
FAR, ROUNDS = 2.0, 2

Rows = list[list[float]]
Scales = Mapping[Atom, float]


class Observed(NamedTuple):
    """A run that ended well: what it ran and the logarithm of its time."""

    config: Config
    log_ms: float


class Estimate(NamedTuple):
    """What the runs tell: ``noise`` of one run, ``scales`` of the settings with large effects; ``mean`` and ``difference`` of any sets."""

    runs: tuple[Observed, ...]
    scales: Scales
    noise: float
    centre: float
    lower: Rows
    weights: list[float]

    def mean(self, config: Config) -> float:
        """The expected logarithm of the time, free of drift."""
        shared = [_kernel(config, run.config, self.scales) for run in self.runs]
        return self.centre + float(sum(map(mul, shared, self.weights)))

    def difference(self, config: Config, other: Config) -> tuple[float, float]:
        """Mean and standard deviation of ``config``'s logarithm less ``other``'s."""
        scales = self.scales
        shared = [_kernel(config, run.config, scales) - _kernel(other, run.config, scales) for run in self.runs]
        own = _kernel(config, config, scales) + _kernel(other, other, scales) - 2 * _kernel(config, other, scales)
        known = sum(one * one for one in _forward(self.lower, shared))
        return float(sum(map(mul, shared, self.weights))), math.sqrt(max(own - known, 0.0))


class _Fit(NamedTuple):
    """The likeliest noise under some scales, and how likely all is then."""

    chance: float
    noise: float
    shared: Rows
    scales: Scales


def estimated(runs: Sequence[Observed], large: Collection[Atom] = ()) -> Estimate:
    """The estimate from at least one run, in the order in which they were made. ``large``: settings known for large effects."""
    most = runs[0].log_ms + WORST
    clipped = tuple(Observed(run.config, min(run.log_ms, most)) for run in runs)
    centre = runs[0].log_ms  # not of all: most may have what changed everything
    values = [run.log_ms - centre for run in clipped]
    fit = _fitted(clipped, values, dict.fromkeys(large, KNOWN))
    spreads = [fit.noise] * len(values)
    lower, weights = _solved(fit.shared, values, spreads)
    for _ in range(ROUNDS):
        left = [weight * spread**2 for weight, spread in zip(weights, spreads, strict=True)]
        spreads = [fit.noise * math.sqrt(max(1.0, abs(one) / (FAR * fit.noise))) for one in left]
        lower, weights = _solved(fit.shared, values, spreads)
    return Estimate(clipped, fit.scales, fit.noise, centre, lower, weights)


def _fitted(runs: Sequence[Observed], values: list[float], known: Scales) -> _Fit:
    """Noise and scales: first all settings but those ``known`` have small effects, then one after the other that strains this is given a large one."""
    fit = _fit(runs, values, known)
    for _ in range(FEW):
        strained = _most_strained(fit, runs, values)
        if strained is None:
            return fit
        wider = max(
            (_fit(runs, values, {**fit.scales, strained: large}) for large in LARGE), key=lambda one: one.chance
        )
        if wider.chance < fit.chance + EVIDENCE:
            return fit
        fit = wider
    return fit


def _most_strained(fit: _Fit, runs: Sequence[Observed], values: list[float]) -> Atom | None:
    """The setting of small effect whose estimate is the furthest from nothing."""
    _, weights = _solved(fit.shared, values, [fit.noise] * len(values))
    found: dict[Atom, float] = {}
    for run, weight in zip(runs, weights, strict=True):
        for one in run.config - fit.scales.keys():
            found[one] = found.get(one, 0.0) + weight
    return max(sorted(found), key=lambda one: abs(found[one]), default=None)


def _fit(runs: Sequence[Observed], values: list[float], scales: Scales) -> _Fit:
    shared = [
        [_kernel(a.config, b.config, scales) + DRIFT**2 * (place + 1) for place, b in enumerate(runs[: number + 1])]
        for number, a in enumerate(runs)
    ]
    chance, noise = max((_likelihood(shared, values, noise), noise) for noise in NOISES)
    return _Fit(chance, noise, shared, scales)


def _kernel(a: Config, b: Config, scales: Scales) -> float:
    """How much two sets' times vary together."""
    common = a & b
    count = len(common)
    large = sum(scales[one] ** 2 - EFFECT**2 for one in common & scales.keys()) if scales else 0.0
    own = OWN**2 if a == b else 0.0
    return float(LEVEL**2 + EFFECT**2 * count + large + PAIR**2 * count * (count - 1) / 2 + own)


def _solved(shared: Rows, values: list[float], spreads: list[float]) -> tuple[Rows, list[float]]:
    lower = _cholesky(shared, spreads)
    return lower, _backward(lower, _forward(lower, values))


def _likelihood(shared: Rows, values: list[float], noise: float) -> float:
    """The logarithm of the values' probability, but for a constant."""
    lower = _cholesky(shared, [noise] * len(values))
    white = _forward(lower, values)
    usual = math.log(noise / USUAL) ** 2 / 2
    return -sum(one * one for one in white) / 2 - sum(math.log(row[-1]) for row in lower) - usual


def _cholesky(shared: Rows, spreads: list[float]) -> Rows:
    """The lower triangle whose product with its own transpose is ``shared`` and the squares of ``spreads`` on the diagonal."""
    lower: Rows = []
    for i, row in enumerate(shared):
        made: list[float] = []
        for j in range(i):
            above = lower[j]
            made.append((row[j] - sum(map(mul, made, above))) / above[j])
        made.append(math.sqrt(row[i] + spreads[i] ** 2 - sum(one * one for one in made)))
        lower.append(made)
    return lower


def _forward(lower: Rows, values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for row, value in zip(lower, values, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    return found


def _backward(lower: Rows, values: Sequence[float]) -> list[float]:
    found = list(values)
    for i in reversed(range(len(found))):
        found[i] = (found[i] - sum(lower[k][i] * found[k] for k in range(i + 1, len(found)))) / lower[i][i]
    return found
