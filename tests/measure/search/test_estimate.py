"""The estimate: what is known, what is drowned in noise, what lies far off."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.search_worlds import ATOMS
from jaxgpu_tune.measure.search.estimate import (
    DRIFT,
    EFFECT,
    FAR,
    KNOWN,
    LEVEL,
    NOISES,
    OWN,
    PAIR,
    ROUNDS,
    USUAL,
    Estimate,
    Observed,
    _below,
    estimated,
)
from jaxgpu_tune.measure.search.trials import NOTHING, Config

ONE, TWO = frozenset(ATOMS[:1]), frozenset(ATOMS[1:2])


def runs(*told: tuple[frozenset[object], float]) -> list[Observed]:
    return [Observed(config, math.log(ms)) for config, ms in told]  # type: ignore[arg-type]


@given(st.floats(0.85, 1.08), st.floats(1e-3, 1e6))
def test_what_was_measured_often_is_believed(ratio: float, scale: float) -> None:
    """Whatever the unit of time."""
    found = estimated(runs(*[(NOTHING, scale), (ONE, scale * ratio)] * 6))
    mean, spread = found.difference(ONE, NOTHING)
    assert mean == pytest.approx(math.log(ratio), abs=0.01)
    assert spread < 0.01


def test_the_difference_is_that_of_the_means() -> None:
    found = estimated(runs((NOTHING, 100), (ONE, 97), (TWO, 101), (ONE | TWO, 99)))
    assert found.difference(ONE, TWO)[0] == pytest.approx(found.mean(ONE) - found.mean(TWO))


def test_effects_add_up_for_what_was_not_tried() -> None:
    found = estimated(runs(*[(NOTHING, 100), (ONE, 96), (TWO, 97)] * 4))
    assert found.difference(ONE | TWO, NOTHING)[0] == pytest.approx(math.log(0.96 * 0.97), abs=0.015)


def test_one_run_far_off_hardly_counts() -> None:
    calm = [(NOTHING, 100.0), (ONE, 98.0)] * 5
    told = [estimated(runs(*calm, (ONE, ms))).difference(ONE, NOTHING)[0] for ms in (98.0, 106.0)]
    assert told[1] - told[0] < 0.015


def test_a_slow_first_run_is_no_measure_of_the_others() -> None:
    """As where files are read for the first time, or kernels are chosen: the second run of the same settings tells more."""
    found = estimated(runs((NOTHING, 150.0), (NOTHING, 100.0), (ONE, 80.0), (ONE | TWO, 72.0), (ONE, 81.0)))
    assert found.told == 5 and len(found.runs) == 4
    for config, other, effect in ((ONE, NOTHING, 0.8), (ONE | TWO, ONE, 0.9)):
        assert math.exp(found.difference(config, other)[0]) == pytest.approx(effect, abs=0.02)


def test_how_slow_something_is_teaches_nothing_where_it_is_far_slower() -> None:
    far = [estimated(runs((NOTHING, 100.0), (ONE, ms), (TWO, 95.0))).difference(TWO, NOTHING) for ms in (115.0, 900.0)]
    assert far[0] == far[1]


def test_noise_is_learnt_from_the_runs() -> None:
    calm = estimated(runs(*[(NOTHING, 100.0), (NOTHING, 100.1)] * 5))
    wild = estimated(runs(*[(NOTHING, 100.0), (NOTHING, 106.0), (NOTHING, 97.0)] * 4))
    assert calm.noise < 0.003
    assert wild.noise > 0.01


tried = st.builds(
    Observed, st.sets(st.sampled_from(ATOMS[:6])).map(frozenset), st.floats(-0.5, 0.5).map(lambda one: 2.0 + one)
)
several = st.lists(tried, min_size=1, max_size=25)


def kernel(a: Config, b: Config, scales: dict[object, float]) -> float:
    """By its definition: a level, an effect of each common setting, a smaller one of each pair, and what is the set's own."""
    each = sum(scales.get(one, EFFECT) ** 2 for one in a & b)
    pairs = sum(1 for one in a & b for other in a & b if str(one) < str(other))
    return LEVEL**2 + each + PAIR**2 * pairs + OWN**2 * (a == b)


class Dense:
    """The same estimate as textbooks write it: whole matrices, nothing kept."""

    def __init__(self, found: Estimate) -> None:
        self.found, self.configs = found, [run.config for run in found.runs]
        self.values = np.array([run.log_ms for run in found.runs]) - found.centre
        places = np.arange(1, len(self.configs) + 1)
        self.shared = np.array([self.row(one) for one in self.configs]) + DRIFT**2 * np.minimum.outer(places, places)
        spreads = np.full(len(places), found.noise)
        for _ in range(ROUNDS):
            left = np.abs(self.inverse(spreads) @ self.values) * spreads**2
            spreads = found.noise * np.sqrt(np.maximum(1.0, left / (FAR * found.noise)))
        self.inverted = self.inverse(spreads)

    def row(self, config: Config) -> list[float]:
        return [kernel(config, one, dict(self.found.scales)) for one in self.configs]

    def inverse(self, spreads: np.ndarray) -> np.ndarray:
        return np.linalg.inv(self.shared + np.diag(spreads**2))

    def chance(self, noise: float) -> float:
        inverse = self.inverse(np.full(len(self.values), noise))
        fit = self.values @ inverse @ self.values - np.linalg.slogdet(inverse)[1]
        return float(-fit / 2 - math.log(noise / USUAL) ** 2 / 2)

    def difference(self, a: Config, b: Config) -> tuple[float, float]:
        scales, shared = dict(self.found.scales), np.array(self.row(a)) - self.row(b)
        own = kernel(a, a, scales) + kernel(b, b, scales) - 2 * kernel(a, b, scales)
        return float(shared @ self.inverted @ self.values), math.sqrt(max(own - shared @ self.inverted @ shared, 0.0))


@given(several, st.sampled_from([(), ATOMS[:1]]))
@settings(max_examples=25)
def test_the_estimate_is_that_of_whole_matrices(told: list[Observed], large: tuple[object, ...]) -> None:
    found = estimated(told, large)  # type: ignore[arg-type]
    dense = Dense(found)
    assert all(found.scales[one] == KNOWN for one in large)  # type: ignore[index]
    assert dense.chance(found.noise) == pytest.approx(max(map(dense.chance, NOISES)), rel=1e-9, abs=1e-9)
    for one in (NOTHING, ONE, ONE | TWO):
        assert found.difference(one, TWO) == pytest.approx(dense.difference(one, TWO), abs=1e-7)


@given(st.lists(tried, max_size=25), several, several)
@settings(max_examples=25)
def test_going_on_with_the_work_of_other_runs_changes_nothing(
    both: list[Observed], before: list[Observed], after: list[Observed]
) -> None:
    """Of runs that begin alike or do not, as a search that looks ahead and then goes another way."""
    once = estimated([*both, *after])
    again = estimated([*both, *after], (), estimated([*both, *before], (), estimated(both[:5] or before)))
    assert again.runs == once.runs
    assert (again.noise, again.scales) == (once.noise, once.scales)
    for one in (NOTHING, ONE, ONE | TWO):
        assert again.mean(one) == pytest.approx(once.mean(one), abs=1e-9)
        assert again.difference(one, TWO) == pytest.approx(once.difference(one, TWO), abs=1e-9)


@given(st.floats(-6, 6))
def test_how_likely_a_normal_number_is_below(z: float) -> None:
    assert _below(z) == pytest.approx(NormalDist().cdf(z), abs=1e-12)


def test_an_improvement_is_expected_of_what_looks_faster_and_of_what_is_unknown() -> None:
    """The mean of what it is faster by, over all that it may be (checked by sampling); hardly anything where it is known to be slower."""
    found = estimated(runs(*[(NOTHING, 100.0), (ONE, 90.0)] * 4))
    mean, spread = found.difference(TWO, NOTHING)
    drawn = np.random.default_rng(1).normal(-mean, spread, 100_000)
    assert found.improvement(TWO, NOTHING) == pytest.approx(np.maximum(drawn, 0).mean(), rel=0.03)
    assert found.improvement(ONE, NOTHING) == pytest.approx(math.log(100 / 90), rel=0.05)
    assert found.improvement(NOTHING, ONE) < 1e-6 and found.improvement(ONE, ONE) == 0.0
