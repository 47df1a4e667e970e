"""Wishes, and what stages give on, as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding, Setting
from jaxgpu_tune.planning.base.wish import Outcome, Wish, together, wish_of

NAMES = st.lists(st.sampled_from("abc"), max_size=3)


def outcome(names: list[str]) -> Outcome:
    """A wish, a decision and a finding of each name."""
    wishes = tuple(Wish("env", name, "1", "preset", "", "") for name in names)
    decisions = tuple(wish.decided("1", "set", "") for wish in wishes)
    return Outcome(wishes, decisions, tuple(Finding(name, "note", name) for name in names))


@given(st.lists(NAMES, max_size=4))
def test_several_outcomes_are_one_in_their_order(parts: list[list[str]]) -> None:
    """Nothing is lost, and none is nothing."""
    assert together(map(outcome, parts)) == outcome([name for part in parts for name in part])
    assert together(()) == Outcome()


@pytest.mark.parametrize(
    ("origin", "offered"),
    [("preset", True), ("fault", True), ("argument", False), ("request", False), ("existing", False)],
)
def test_a_wish_keeps_who_wants_it(origin: str, offered: bool) -> None:
    """In the decision as well; what is offered nobody asked for by name."""
    wish = wish_of(Setting("env", "A", "1", reason="why", source="whence"), origin)  # type: ignore[arg-type]
    assert (wish.kind, wish.name, wish.value, wish.reason, wish.source) == ("env", "A", "1", "why", "whence")
    decision = wish.decided(None, "dropped", "since")
    assert (decision.value, decision.status, decision.reason) == (None, "dropped", "since")
    assert decision.origin == wish.origin == origin and wish.is_offered is offered
