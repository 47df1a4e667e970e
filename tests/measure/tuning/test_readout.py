"""What a run of a search tells."""

from __future__ import annotations

from jaxgpu_tune.measure.tuning.readout import how_numbers_differ


def test_numbers_are_held_against_the_references() -> None:
    nan, inf = float("nan"), float("inf")
    assert how_numbers_differ((1.0, 2.0), (1.0, 2.01), 0.01) == ""
    assert "number 2 is 2 instead of 2.1" in how_numbers_differ((1.0, 2.0), (1.0, 2.1), 0.01)
    assert how_numbers_differ((1.0, nan), (1.0, 2.0), 0.5)
    assert how_numbers_differ((inf,), (2.0,), 0.5)
    assert how_numbers_differ((nan,), (nan,), 0.01) == ""
    assert how_numbers_differ((1.0,), (1.0, 5.0), 0.01) == ""
    assert how_numbers_differ((0.0,), (0.0,), 0.0) == ""
