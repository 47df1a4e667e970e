"""What a search speaks of."""

from __future__ import annotations

from jaxgpu_tune.measure.search.trials import (
    NOTHING,
    Atom,
    Move,
    atom,
    toggled,
)


def test_a_move_replaces_another_value_of_its_settings() -> None:
    one, two = atom("--a=1"), atom("--a=2")
    assert toggled(frozenset([one]), Move(frozenset([two]))) == frozenset([two])
    assert toggled(frozenset([two]), Move(frozenset([two]))) == NOTHING
    assert str(Atom("env", "NAME", "x")) == "NAME=x"
    assert str(one) == "--a=1"
