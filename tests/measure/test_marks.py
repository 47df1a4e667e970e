"""Marks in the user's loop: heard where somebody listens, and nothing otherwise."""

from __future__ import annotations

import sys

import pytest  # noqa: TC002 - as every test

import jaxgpu_tune
from jaxgpu_tune.measure.marks import LISTENER
from jaxgpu_tune.measure.observer import heard_marks


def test_without_a_listener_they_do_nothing() -> None:
    """The items pass as they are."""
    before = len(heard_marks.stamps)
    jaxgpu_tune.step()
    assert list(jaxgpu_tune.steps("abc")) == ["a", "b", "c"]
    assert len(heard_marks.stamps) == before


def test_a_listener_gets_one_mark_at_each_end_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at its beginning: the first mark comes when the second item is asked for."""
    monkeypatch.setitem(sys.modules, LISTENER, heard_marks)
    monkeypatch.setattr(heard_marks, "stamps", [])
    items = jaxgpu_tune.steps("ab")
    assert next(items) == "a" and heard_marks.stamps == []
    assert list(items) == ["b"] and len(heard_marks.stamps) == 2
    jaxgpu_tune.step()
    assert len(heard_marks.stamps) == 3 and heard_marks.stamps == sorted(heard_marks.stamps)
