"""What a budget of seconds has room for: the next step, what follows it, and how long a run may take."""

from __future__ import annotations

import math
from functools import partial

import pytest

from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Move, Risk, Start, Step, Trial
from jaxgpu_tune.measure.statistics import PAIRS
from jaxgpu_tune.measure.tuning.budget import LONGER, next_step, run_limit, step_after
from jaxgpu_tune.measure.tuning.costs import RISKY, SLACK, SLOWEST
from tests.measure.atoms import atom


def test_what_may_hang_is_begun_only_where_a_hang_and_the_proof_can_be_paid_for() -> None:
    """Ten seconds a run: a hang is known after 25; then come the twelve of the proof, and one is kept.

    It may hang in that proof. Unless much may be gained by it, there must be room for another one, of what is best without it.
    """
    proof, hang = 10 * (12 + 1), 10 * 1.5 + 10
    change = Move(frozenset([atom("a=1")]), seen=False)
    assert _begun(change, "none") == math.ceil(10 * 1.06 + proof)
    assert _begun(change._replace(large=True), "dies") == hang + proof
    assert _begun(change, "dies") == hang + proof + 10 * 12


@pytest.mark.parametrize(("keeps", "compiled"), [(True, 0), (False, 1)])
def test_a_second_claim_is_begun_only_where_what_it_compiles_has_room(keeps: bool, compiled: int) -> None:
    """The winner is not faster than the preset, which is then held against nothing: that was compiled long ago, and is not kept."""
    one, two = (frozenset([atom(f"{name}=1")]) for name in "ab")
    search = Search([Start("none", NOTHING), Start("preset", one)], [Move(two)])
    for config, ms in ((NOTHING, 100.0), (NOTHING, 100.0), (one, 90.0), (one | two, 75.0), (one | two, 75.0)):
        new = config not in search.good
        search.tell(Trial(config, "start", ms, "", 30.0 if new else 10.0 / SLACK))
    assert search.ask(24.0) == Step(one, "check")
    for config, ms in ((one, 90.0), (one | two, 91.0)):
        search.tell(Trial(config, "check", ms, "", 10.0 / SLACK))
    enough = 10.0 * 2 * PAIRS + compiled * (30.0 * LONGER - 10.0) + 1e-6
    assert next_step(search, enough, keeps) == Step(NOTHING, "check")
    assert next_step(search, enough - 1.0, keeps) is None


def _begun(change: Move, risk: Risk) -> int:
    """The seconds that must be left for a change to be tried."""
    search = Search([Start("none", NOTHING)], [change], partial(_risk, risk))
    for _ in range(2):
        search.tell(Trial(NOTHING, "start", 100.0, "", 10.0 / SLACK, detail={"agreed": True}))
    steps = ((left, next_step(search, float(left), True)) for left in range(100, 400))
    return next(left for left, step in steps if step is not None and step.purpose == "toggle")


def _risk(risk: Risk, config: Config) -> Risk:
    return risk if config else "none"


def test_after_the_first_run_it_comes_again_and_then_what_the_search_would_ask_next() -> None:
    """With the seconds gone that the step takes: here the change has room, and what comes after it is its proof."""
    change = Move(frozenset([atom("a=1")]))
    search = Search([Start("none", NOTHING)], [change])
    first = Step(NOTHING, "start")
    assert next_step(search, 1.0, True) == step_after(search, first, 1.0, True) == first
    for _ in range(2):
        search.tell(Trial(NOTHING, "start", 100.0, "", 10.0 / SLACK))
    enough = 10.0 * (LONGER + 2 * PAIRS + 1) + 1e-6
    assert step_after(search, first, enough, True) is None
    assert step_after(search, first, enough + 20.0, True) == Step(change.config, "toggle")


@pytest.mark.parametrize(
    ("name", "left", "expected"),
    [
        ("", 500.0, RISKY[0] * 10 + RISKY[1]),
        ("new", 500.0, SLOWEST[0] * 10 + SLOWEST[1]),
        ("risky", 500.0, RISKY[0] * 10 + RISKY[1]),
        ("new", 15.0, 15.0 + 10.0),
        ("new", 1.0, 20.0),
    ],
)
def test_a_run_hangs_by_what_others_took_and_sooner_at_the_end_of_the_budget(
    name: str, left: float, expected: float
) -> None:
    """Of 100 s; never after less than twice what the longest took, and never after the timeout."""
    search = Search([Start("none", NOTHING)], [], lambda config: "dies" if "risky" in str(config) else "none")
    config = frozenset([atom(f"{name}=1")]) if name else NOTHING
    assert run_limit(search, config, left, 100.0, None) == max(left, 60.0)
    assert run_limit(search, config, left, 100.0, 7.0) == 7.0
    search.tell(Trial(NOTHING, "start", 100.0, "", 10.0))
    assert run_limit(search, config, left, 100.0, None) == expected
    assert run_limit(search, config, left, 100.0, 7.0) == 7.0
