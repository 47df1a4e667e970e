"""The estimate: what is known, what is drowned in noise, what lies far off."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.search_worlds import ATOMS
from jaxgpu_tune.measure.search.estimate import Observed, estimated
from jaxgpu_tune.measure.search.trials import NOTHING

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


def test_noise_is_learnt_from_the_runs() -> None:
    calm = estimated(runs(*[(NOTHING, 100.0), (NOTHING, 100.1)] * 5))
    wild = estimated(runs(*[(NOTHING, 100.0), (NOTHING, 106.0), (NOTHING, 97.0)] * 4))
    assert calm.noise < 0.003
    assert wild.noise > 0.01
