"""What a budget of seconds has room for: the next step, what follows it, and how long a run may take."""

from __future__ import annotations

import math
from functools import partial

import pytest

from jaxgpu_tune.measure.search.search import SLOW, Search
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Move, Purpose, Risk, Start, Step, Trial
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
    ("name", "purpose", "left", "expected"),
    [
        ("", "toggle", 500.0, RISKY[0] * 10 + RISKY[1]),
        ("new", "toggle", 500.0, SLOWEST[0] * 10 + SLOWEST[1]),
        ("risky", "toggle", 500.0, RISKY[0] * 10 + RISKY[1]),
        ("slow", "toggle", 500.0, SLOW * 10 + SLOWEST[1]),
        ("new", "check", 15.0, 15.0 + 10.0),
        ("new", "check", 1.0, 20.0),
        ("new", "toggle", 120.0 + 30.0, 30.0),
        ("slow", "toggle", 120.0 + 30.0, 30.0),
        ("new", "toggle", 120.0 + 5.0, 20.0),
        ("new", "start", 60.0, SLOWEST[0] * 10 + SLOWEST[1]),
    ],
)
def test_a_run_hangs_by_what_others_took_and_sooner_where_the_proof_needs_the_seconds(
    name: str, purpose: Purpose, left: float, expected: float
) -> None:
    """Of 100 s; never after less than twice what the longest took, and never after the timeout. The proof takes 120 s."""
    move = Move(frozenset([atom("slow=1")]), slow=True)
    search = Search([Start("none", NOTHING)], [move], lambda config: "dies" if "risky" in str(config) else "none")
    step = Step(frozenset([atom(f"{name}=1")]) if name else NOTHING, purpose)
    assert run_limit(search, step, left, 100.0, None) == max(left, 60.0)
    assert run_limit(search, step, left, 100.0, 7.0) == 7.0
    search.tell(Trial(NOTHING, "start", 100.0, "", 10.0))
    search.tell(Trial(NOTHING, "start", 100.0, "", 10.0 / SLACK))
    assert run_limit(search, step, left, 100.0, None) == pytest.approx(expected)
    assert run_limit(search, step, left, 100.0, 7.0) == 7.0


def test_a_proof_that_was_begun_goes_on_after_a_slow_run() -> None:
    """The first took 9.3 s where another of the same settings had taken 5.6: eleven such have no room in 71 s, but the others were quicker.

    It had been given up there, and nothing was proved (PPO on an H200; benchmarks/results, ppo-sixth).
    """
    change = Move(frozenset([atom("a=1")]))
    search = Search([Start("none", NOTHING)], [change])
    for config, purpose, ms, seconds in (
        (NOTHING, "start", 100.0, 5.6),
        (NOTHING, "start", 100.0, 5.6),
        (change.config, "toggle", 80.0, 11.2),
        (NOTHING, "check", 100.0, 9.3),
        (change.config, "check", 80.0, 9.3),
        (change.config, "check", 80.0, 9.3),
    ):
        search.tell(Trial(config, purpose, ms, "", seconds))
    assert next_step(search, 9 * 5.6, True) == Step(NOTHING, "check")
    assert next_step(search, 7 * 5.6, True) is None


def test_what_compiles_for_very_long_is_tried_only_with_room_for_that() -> None:
    """Exhaustive tiling: 4.5 s of compiling became more than 68 s, and the proof had no room any more (PPO on an H200; ppo-fifth)."""
    proof = 10 * (2 * PAIRS + 1)
    assert _begun(Move(frozenset([atom("a=1")]), slow=True), "none") == math.ceil(SLOW * LONGER * 10 / SLACK + proof)


def test_what_compiled_for_very_long_makes_no_other_run_wait_long_for_a_hang() -> None:
    """It took 90 s where others take 10 and compile for half of that. A hang waited for 290 s, and one in the proof for twice 90."""
    slow, new = frozenset([atom("slow=1")]), frozenset([atom("new=1")])
    search = Search([Start("none", NOTHING)], [Move(slow, slow=True), Move(new)])
    for config, seconds in ((NOTHING, 10.0), (NOTHING, 5.0), (slow, 90.0), (new, 10.0)):
        search.tell(Trial(config, "start", 100.0, "", seconds, detail={"compile_seconds": seconds - 5.0}))
    limit = partial(run_limit, search, budget=100.0, timeout=None)
    assert limit(Step(frozenset([atom("other=1")]), "toggle"), left=900.0) == SLOWEST[0] * 10 + SLOWEST[1]
    assert (
        limit(Step(NOTHING, "check"), left=900.0)
        == limit(Step(new, "check"), left=900.0)
        == SLOWEST[0] * 5 + SLOWEST[1]
    )
    assert limit(Step(new, "check"), left=0.0) == limit(Step(slow, "check"), left=0.0) == 10.0
    search.tell(Trial(new, "check", 100.0, "", 12.0, detail={"compile_seconds": 7.0}))
    assert limit(Step(new, "check"), left=900.0) == SLOWEST[0] * 12 + SLOWEST[1], "as where a program cannot be kept"


@pytest.mark.parametrize("took", [100.0, 20.0, 5.0])
def test_where_the_best_compiles_for_very_long_all_that_holds_it_needs_room_for_that(took: float) -> None:
    """As long as it was seen to take. Two runs of it more had taken the seconds of the proof."""
    slow, other = frozenset([atom("slow=1")]), frozenset([atom("other=1")])
    search = Search([Start("none", NOTHING)], [Move(slow, slow=True), Move(other)])
    for config, ms, seconds in ((NOTHING, 100.0, 10.0), (NOTHING, 100.0, 10.0 / SLACK), (slow, 50.0, took)):
        search.tell(Trial(config, "start" if not config else "toggle", ms, "", seconds))
    steps = ((left, next_step(search, float(left), True)) for left in range(100, 400))
    begun = next(left for left, step in steps if step is not None and step.config == slow | other)
    new = max(10.0, (10.0 + took) / 2) * LONGER
    assert begun == pytest.approx(max(took, new) + 10 * (2 * PAIRS + 1), abs=1.0)


def test_a_setting_in_doubt_is_left_out_for_a_measurement_only_where_what_that_compiles_has_room() -> None:
    slow, other = frozenset([atom("slow=1")]), frozenset([atom("other=1")])
    search = Search([Start("none", NOTHING)], [Move(other), Move(slow, slow=True)])
    for config, ms in ((NOTHING, 100.0), (NOTHING, 100.0), (other, 100.0), (other | slow, 90.0), (other | slow, 90.0)):
        search.tell(Trial(config, "start" if not config else "toggle", ms))
    assert search.ask(2 * PAIRS + 1 + SLOW) == Step(slow, "prune")
    assert search.ask(2 * PAIRS + SLOW) == Step(NOTHING, "check")


def test_a_hang_before_the_proof_overruns_the_budget_by_no_more_than_a_tenth() -> None:
    """Compiling takes 200 s, other runs 5. With 280 s of 900 left, a hang had waited for 410."""
    search = Search([Start("none", NOTHING)], [])
    for seconds in (205.0, 5.0):
        search.tell(Trial(NOTHING, "start", 100.0, "", seconds, detail={"compile_seconds": seconds - 5.0}))
    step = Step(frozenset([atom("a=1")]), "toggle")
    assert run_limit(search, step, 280.0, 900.0, None) == 280.0 + 90.0


@pytest.mark.parametrize("keeps", [True, False])
def test_what_compiles_for_very_long_makes_no_other_run_dear(keeps: bool) -> None:
    """Four of seven took 70 s: two usual programs of the proof counted as so long in one process, and 190 s were given back."""
    slow, good = frozenset([atom("slow=1")]), frozenset([atom("good=1")])
    search = Search([Start("none", NOTHING)], [Move(slow, slow=True), Move(good)])
    others = [slow | {atom(f"{n}=1")} for n in range(4)]
    for config, ms, seconds in ((NOTHING, 100.0, 10.0), (NOTHING, 100.0, 5.0), (good, 80.0, 10.0)):
        search.tell(Trial(config, "start", ms, "", seconds, detail={"compile_seconds": seconds - 5.0}))
    for config in others:
        search.tell(Trial(config, "toggle", 90.0, "", 70.0, detail={"compile_seconds": 65.0}))
    proof = 2 * PAIRS * 5.0 * SLACK + (0 if keeps else 2 * (10.0 * LONGER - 5.0 * SLACK))
    assert next_step(search, proof + 1e-6, keeps) == Step(NOTHING, "check")
    assert next_step(search, proof - 1.0, keeps) is None


def test_before_a_second_run_nobody_knows_whether_it_compiles_again() -> None:
    """It does where programs cannot be kept, and takes as long as the first then."""
    search = Search([Start("none", NOTHING)], [])
    compiled = {"compile_seconds": 200.0}
    for _ in range(2):
        search.tell(Trial(NOTHING, "start", 100.0, "", 205.0, detail=compiled))
        assert run_limit(search, Step(NOTHING, "start"), 900.0, 1200.0, None) == RISKY[0] * 205 + RISKY[1]
    longer = frozenset([atom("a=1")])
    search.tell(Trial(longer, "toggle", 100.0, "", 405.0, detail={"compile_seconds": 400.0}))
    assert run_limit(search, Step(longer, "check"), 900.0, 1200.0, None) == 900.0 + 120.0
