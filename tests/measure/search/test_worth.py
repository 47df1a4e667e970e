"""Which settings are best, which pay and which are in doubt, told from a few runs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from jaxgpu_tune.measure.search.estimate import Observed, estimated
from jaxgpu_tune.measure.search.failures import Failures
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Move, Risk
from jaxgpu_tune.measure.search.worth import CLEARLY, Worth
from tests.measure.atoms import atom

A, B, C = (frozenset([atom(f"--{name}=1")]) for name in "abc")
MOVES = (Move(A), Move(B), Move(C))


def worth(*told: tuple[Config, float], failed: tuple[Config, ...] = (), risky: Config = NOTHING) -> Worth:
    """After runs of these milliseconds."""
    runs = tuple(Observed(config, math.log(ms)) for config, ms in told)

    def risk(config: Config) -> Risk:
        return "dies" if risky and risky <= config else "none"

    return Worth(runs, estimated(runs), Failures(frozenset(failed)), MOVES, risk)


def test_before_any_run_nothing_is_best_and_nothing_is_in_doubt() -> None:
    found = worth()
    assert (found.sound, found.best, found.winner, found.doubtful(())) == ((), NOTHING, NOTHING, [])
    mean, spread = found.estimate.difference(A, NOTHING)
    assert mean == 0 and spread > 0


def test_what_failed_later_is_not_sound_and_so_not_the_best() -> None:
    told = ((NOTHING, 100.0), (NOTHING, 100.0), (A, 70.0), (B, 80.0))
    assert worth(*told).best == A
    found = worth(*told, failed=(A,))
    assert (found.sound, found.best) == ((NOTHING, B), B)


@pytest.mark.parametrize(("ms", "best"), [(80.0 * (1 - CLEARLY / 2), A), (80.0 * (1 - 3 * CLEARLY), B)])
def test_what_may_hang_is_the_best_only_where_it_is_clearly_faster(ms: float, best: Config) -> None:
    told = ((NOTHING, 100.0), (NOTHING, 100.0), *[(A, 80.0)] * 3, *[(B, ms)] * 3)
    assert worth(*told).best == B
    assert worth(*told, risky=B).best == best


def test_what_compiles_for_very_long_stays_only_where_it_is_clearly_faster() -> None:
    """By luck it was half a percent ahead, and every further run of the search held it: ten times as long."""
    slow = (Move(A), Move(B, slow=True), Move(C))
    for ms, best in ((99.0, NOTHING), (90.0, B)):
        found = replace(worth((NOTHING, 100.0), (NOTHING, 100.0), *[(B, ms)] * 2), moves=slow)
        assert found.best == found.winner == best
    found = replace(worth((NOTHING, 100.0), (NOTHING, 100.0), (A, 80.0), *[(A | B, 79.0)] * 2), moves=slow)
    assert found.best == found.winner == A


def test_the_winner_is_without_what_was_seen_to_gain_nothing() -> None:
    told = ((NOTHING, 100.0), (NOTHING, 100.0), (A, 90.0), (A | B, 89.9), (A | B, 89.9))
    found = worth(*told)
    assert (found.best, found.winner) == (A | B, A)


def test_what_was_never_left_out_stays_and_is_in_doubt_until_that_was_tried() -> None:
    found = worth((NOTHING, 100.0), (NOTHING, 100.0), (A | B, 99.0))
    assert found.winner == found.best == A | B
    assert set(found.doubtful([])) == {A, B}
    assert found.doubtful([A]) == [B]
    assert worth((NOTHING, 100.0), (NOTHING, 100.0), (A | B, 99.0), failed=(A,)).doubtful([]) == []


def test_what_may_hang_is_in_doubt_where_it_gains_about_what_its_risk_costs() -> None:
    told = ((NOTHING, 100.0), (NOTHING, 100.0), (C, 100.0), (C, 100.0), *[(A | C, 100 * (1 - CLEARLY))] * 2)
    assert C not in worth(*told).doubtful([])
    assert C in worth(*told, risky=A).doubtful([])


def test_settings_that_gain_only_together_stay() -> None:
    """Each loses all of the gain where it is left out."""
    told = ((NOTHING, 100.0), (NOTHING, 100.0), *[(A | B, 90.0)] * 2, (A, 100.0), (B, 100.0))
    assert worth(*told).winner == A | B


def test_what_is_surely_a_loss_is_left_out_though_no_run_was_without_it() -> None:
    """It was slow in the company of each of many others, so it is not in doubt either."""
    others = [frozenset([atom(f"--other{number}=1")]) for number in range(6)]
    told = ((NOTHING, 100.0), (NOTHING, 100.0), (A | C, 95.0), (A | C, 95.0), *((C | one, 110.0) for one in others))
    found = worth(*told)
    assert (found.best, found.winner) == (A | C, A)
    assert A not in found.doubtful([])


def test_a_part_is_a_move_or_a_setting_of_none() -> None:
    """A move's settings are left out together."""
    other = frozenset([atom("--other=1")])
    assert worth().parts(A | B | other) == [A, B, other]
    assert replace(worth(), moves=(Move(A | B), Move(C))).parts(A | B) == [A | B]
