"""What is claimed after a search, and which of the fresh runs count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.claims import IN_A_ROW, Checks, claims
from jaxgpu_tune.measure.search.contest import Contest
from jaxgpu_tune.measure.search.estimate import Observed, estimated
from jaxgpu_tune.measure.search.failures import Failures
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Move, Start, Trial
from jaxgpu_tune.measure.search.worth import Worth
from jaxgpu_tune.measure.statistics import PAIRS
from tests.measure.atoms import atom

A, B = (frozenset([atom(f"--{name}=1")]) for name in "ab")
STARTS = (Start("first", NOTHING), Start("preset", A))
OWN = frozenset({"died"})
DIED = Trial(NOTHING, "check", None, "died")


def claimed(*told: tuple[Config, float], single: bool = False, failed: Config | None = None) -> list[Contest]:
    """After the program as it is took 100 ms twice, and these runs."""
    runs = tuple(Observed(config, math.log(ms)) for config, ms in ((NOTHING, 100.0), (NOTHING, 100.0), *told))
    failures = Failures(frozenset(() if failed is None else [failed]))
    return list(claims(STARTS, Worth(runs, estimated(runs), failures, (Move(A), Move(B)), lambda _: "none"), single))


@pytest.mark.parametrize(
    ("ms", "single", "expected"),
    [
        (75.0, False, [(A, A | B), (NOTHING, A)]),
        (75.0, True, [(NOTHING, A | B)]),
        (89.0, False, [(NOTHING, A | B)]),
    ],
)
def test_a_clear_winner_is_held_against_the_preset_and_if_it_fails_the_preset_against_nothing(
    ms: float, single: bool, expected: list[tuple[Config, Config]]
) -> None:
    found = claimed((A, 90.0), *[(A | B, ms)] * 3, single=single)
    assert found == [Contest(reference, challenger) for reference, challenger in expected]


def test_a_preset_that_wins_is_held_against_the_program_as_it_is_and_nothing_against_nothing() -> None:
    assert claimed((A, 90.0)) == [Contest(NOTHING, A)]
    assert claimed((A, 110.0)) == []


def test_a_preset_that_failed_is_neither_claimed_nor_held_against() -> None:
    assert claimed((A, 90.0), *[(B, 70.0)] * 2, failed=A) == [Contest(NOTHING, B)]
    assert claimed((A, 90.0), failed=A) == []


@given(st.lists(st.booleans(), max_size=12))
def test_what_fails_as_the_program_does_counts_from_the_third_in_a_row_on(wells: list[bool]) -> None:
    """What ends well always counts, and begins a new row."""
    checks, row = Checks(), 0
    for well in wells:
        before = checks
        checks = checks.told(Trial(NOTHING, "check", 5.0) if well else DIED, OWN)
        row = 0 if well else row + 1
        assert checks.in_a_row == row
        assert len(checks.runs) - len(before.runs) == (well or row >= IN_A_ROW)
    other = checks.told(Trial(A, "check", None, "hang"), OWN)
    assert other.runs[-1].failure == "hang", "no failure of the program's own"


@pytest.mark.parametrize(("first", "single"), [(NOTHING, True), (A, False)])
def test_the_first_run_tells_what_the_claim_is_held_against(first: Config, single: bool) -> None:
    """So a claim is the same for a later start, whatever that has time for."""
    checks = Checks(single=not single)
    for config in (first, B, B, first):
        checks = checks.told(Trial(config, "check", 5.0), ())
        assert checks.single is single


def test_a_claim_is_checked_only_if_the_one_before_it_was_not_won() -> None:
    two = [Contest(A, B), Contest(NOTHING, A)]
    slower = (Trial(A, "check", 5.0), Trial(B, "check", 6.0))
    won = tuple(Trial(Contest(A, B).turn(n), "check", 6.0 if not (n + 1) // 2 % 2 else 5.0) for n in range(2 * PAIRS))
    assert len(Checks(runs=slower[:1]).contests(two)) == 1
    assert [one.over for one in Checks(runs=slower).contests(two)] == [True, False]
    assert [one.won for one in Checks(runs=won).contests(two)] == [True]


def test_after_settings_failed_the_next_claim_begins_with_runs_of_its_own() -> None:
    checks = Checks(runs=(Trial(NOTHING, "check", 5.0), Trial(B, "check", None, "hang")))
    lost = checks.contests([Contest(NOTHING, B), Contest(NOTHING, A)])
    again = checks.anew(lost)
    assert [one.over for one in lost] == [True, False]
    assert again.contests([Contest(NOTHING, A)]) == (lost[0], Contest(NOTHING, A))
