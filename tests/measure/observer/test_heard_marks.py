"""Marks that a watched program has left."""

from __future__ import annotations

import pytest  # noqa: TC002 - as every test

from jaxgpu_tune.measure.observer import heard_marks


def test_marks_are_counted_and_the_oldest_but_the_first_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for the first is told once."""
    stamps: list[float] = []
    begun: list[str] = []
    monkeypatch.setattr(heard_marks, "stamps", stamps)
    monkeypatch.setattr(heard_marks, "_dropped", [])
    monkeypatch.setattr(heard_marks, "begins", [lambda: begun.append("begun")])
    monkeypatch.setattr(heard_marks, "MOST", 10)
    times = iter(range(1000))
    monkeypatch.setattr(heard_marks, "perf_counter", lambda: float(next(times)))
    for number in range(1, 40):
        heard_marks.mark()
        assert heard_marks.total() == number and stamps[0] == 0.0 and stamps[-1] == number - 1
        assert len(stamps) <= 10 and stamps == sorted(stamps)
    assert begun == ["begun"] and stamps[1:] == [float(one) for one in range(40 - len(stamps), 39)]
