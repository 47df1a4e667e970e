"""How fast each set of settings is, estimated from all runs so far.

One run is one noisy number, and keeping whatever once looked faster keeps the luckiest. So the runs are smoothed together: the
logarithm of a time is a level that drifts, a small effect of each setting, a smaller one of each pair, and noise (a Gaussian
process whose kernel counts what two sets share). Runs that lie far off weigh less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import mul
from typing import NamedTuple

from .values import Config

__all__ = ["Estimate", "Observed", "estimated"]

LEVEL, OWN, DRIFT = 0.05, 0.003, 0.001
"""Standard deviations of logarithms, before anything was measured: of the level, of one set's own, and of the drift from one run to the next."""
EFFECTS = (0.025, 0.1)
"""Of one setting's effect: mostly a few per cent, but now and then one changes everything. The likelier of the two holds for all."""
PAIR = 0.4
"""Of what a pair does beyond its settings' effects, as a share of these."""
NOISES = (0.0015, 0.003, 0.006, 0.012, 0.025, 0.06)
"""Of one run's noise: the likeliest of these."""
WORST = 0.1
"""What is slower than the first run by more than this is just slow; how slow teaches nothing about the others."""
FAR, ROUNDS = 2.0, 2


class Observed(NamedTuple):
    """A run that ended well: what it ran and the logarithm of its time."""

    config: Config
    log_ms: float


class Estimate(NamedTuple):
    """What the runs tell: ``effect`` of a setting and ``noise`` of one run as is likeliest; ``mean`` and ``difference`` of any sets."""

    runs: tuple[Observed, ...]
    effect: float
    noise: float
    centre: float
    lower: list[list[float]]
    weights: list[float]

    def mean(self, config: Config) -> float:
        """The expected logarithm of the time, free of drift."""
        shared = [_kernel(config, run.config, self.effect) for run in self.runs]
        return self.centre + float(sum(map(mul, shared, self.weights)))

    def difference(self, config: Config, other: Config) -> tuple[float, float]:
        """Mean and standard deviation of ``config``'s logarithm less ``other``'s."""
        kernel = partial(_kernel, effect=self.effect)
        shared = [kernel(config, run.config) - kernel(other, run.config) for run in self.runs]
        own = kernel(config, config) + kernel(other, other) - 2 * kernel(config, other)
        known = sum(one * one for one in _forward(self.lower, shared))
        return float(sum(map(mul, shared, self.weights))), math.sqrt(max(own - known, 0.0))


def estimated(runs: Sequence[Observed]) -> Estimate:
    """The estimate from at least one run, in the order in which they were made."""
    most = runs[0].log_ms + WORST
    clipped = tuple(Observed(run.config, min(run.log_ms, most)) for run in runs)
    centre = sorted(run.log_ms for run in clipped)[len(clipped) // 2]
    values = [run.log_ms - centre for run in clipped]
    shared = {effect: _shared(clipped, effect) for effect in EFFECTS}
    chances = {(e, n): _likelihood(shared[e], values, n) for e in EFFECTS for n in NOISES}
    effect, noise = max(chances, key=lambda one: chances[one])
    spreads = [noise] * len(values)
    lower, weights = _solved(shared[effect], values, spreads)
    for _ in range(ROUNDS):
        left = [weight * spread**2 for weight, spread in zip(weights, spreads, strict=True)]
        spreads = [noise * math.sqrt(max(1.0, abs(one) / (FAR * noise))) for one in left]
        lower, weights = _solved(shared[effect], values, spreads)
    return Estimate(clipped, effect, noise, centre, lower, weights)


def _shared(runs: Sequence[Observed], effect: float) -> list[list[float]]:
    """How much the runs' times vary together, with the drift that the later of two has seen as well: the lower triangle."""
    return [
        [_kernel(a.config, b.config, effect) + DRIFT**2 * (place + 1) for place, b in enumerate(runs[: number + 1])]
        for number, a in enumerate(runs)
    ]


def _kernel(a: Config, b: Config, effect: float) -> float:
    """How much two sets' times vary together."""
    common = len(a & b)
    own = OWN**2 if a == b else 0.0
    return float(LEVEL**2 + effect**2 * common * (1 + PAIR**2 * (common - 1) / 2) + own)


def _solved(
    shared: list[list[float]], values: list[float], spreads: list[float]
) -> tuple[list[list[float]], list[float]]:
    lower = _cholesky(shared, spreads)
    return lower, _backward(lower, _forward(lower, values))


def _likelihood(shared: list[list[float]], values: list[float], noise: float) -> float:
    """The logarithm of the values' probability, but for a constant."""
    lower = _cholesky(shared, [noise] * len(values))
    white = _forward(lower, values)
    return -sum(one * one for one in white) / 2 - sum(math.log(row[-1]) for row in lower)


def _cholesky(shared: list[list[float]], spreads: list[float]) -> list[list[float]]:
    """The lower triangle whose product with its own transpose is ``shared`` and the squares of ``spreads`` on the diagonal."""
    lower: list[list[float]] = []
    for i, row in enumerate(shared):
        made: list[float] = []
        for j in range(i):
            above = lower[j]
            made.append((row[j] - sum(map(mul, made, above))) / above[j])
        made.append(math.sqrt(row[i] + spreads[i] ** 2 - sum(one * one for one in made)))
        lower.append(made)
    return lower


def _forward(lower: list[list[float]], values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for row, value in zip(lower, values, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    return found


def _backward(lower: list[list[float]], values: Sequence[float]) -> list[float]:
    found = list(values)
    for i in reversed(range(len(found))):
        found[i] = (found[i] - sum(lower[k][i] * found[k] for k in range(i + 1, len(found)))) / lower[i][i]
    return found
