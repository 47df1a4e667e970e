"""What runs cost, and that a search with a budget of seconds keeps enough back for its proof, whatever a run's seconds go into."""

from __future__ import annotations

import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.trials import NOTHING, Config, Step, Trial
from jaxgpu_tune.measure.tuning.costs import RECENT, SLACK, costs_of
from jaxgpu_tune.measure.tuning.drive import drive
from jaxgpu_tune.measure.tuning.journal import Journal
from jaxgpu_tune.model import Finding
from tests.measure.atoms import atom
from tests.measure.tuning.test_drive import ABOUT, Solver, space

ONE = frozenset([atom("a=1")])


def test_a_run_of_what_ran_before_costs_what_the_last_ones_cost_and_until_then_no_less_than_a_new_one() -> None:
    first, other = Trial(NOTHING, "start", 5.0, "", 14.0), Trial(ONE, "start", 5.0, "", 13.0)
    dead = Trial(frozenset([atom("b=1")]), "toggle", None, "hang", 90.0)
    assert costs_of([dead]) is None
    assert costs_of([first, other, dead]) == (13.5, 13.5 * SLACK, 13.0)
    assert costs_of([first, first._replace(seconds=8.0), other]) == (13.5, 8.0 * SLACK, 8.0)
    compiled = first._replace(seconds=13.0, detail={"compile_seconds": 4.0})
    assert costs_of([first, compiled]) == (14.0, 13.0 * SLACK, 13.0), "as where a program cannot be kept"
    assert costs_of([first, compiled], keeps=False) == (14.0, 9.0 * SLACK, 9.0)
    assert costs_of([*[first] * 3, *[first._replace(seconds=6.0)] * RECENT]) == (14.0, 6.0 * SLACK, 6.0)


def test_runs_of_new_settings_tell_what_known_ones_cost_so_that_a_single_quick_one_misleads_nobody() -> None:
    """The second run took 5.6 s, and all others without compiling 6.4 (PPO on an H200; ppo-sixth)."""
    runs = [
        Trial(frozenset([atom(f"a={n}")]), "toggle", 5.0, "", 11.0, detail={"compile_seconds": 4.6}) for n in range(5)
    ]
    quick = runs[0]._replace(seconds=5.6, detail={"compile_seconds": 0.0})
    assert costs_of([runs[0], quick, *runs[1:]]) == (11.0, 6.4 * SLACK, 5.6)
    assert costs_of([runs[0], quick, *runs[1:], *[quick._replace(seconds=9.3)] * 2]) == (11.0, 9.3 * SLACK, 5.6)


def test_a_first_run_that_is_far_slower_tells_nothing_of_later_ones() -> None:
    """It read the libraries from a cold disk: 50 s of 60. Twelve runs of 55 s had no room in any budget of ten minutes, and nothing was tried."""
    cold = Trial(NOTHING, "start", 5.0, "", 60.0, detail={"compile_seconds": 4.0})
    second = cold._replace(seconds=6.0, detail={"compile_seconds": 0.0})
    assert costs_of([cold]) == (60.0, 60.0 * SLACK, 60.0)
    assert costs_of([cold, second]) == (10.0, 6.0 * SLACK, 6.0)


def test_no_run_costs_nothing() -> None:
    """Nor less: one process of a job tells the seconds, the slowest one what it compiled."""
    first = Trial(NOTHING, "start", 5.0, "", 4.0, detail={"compile_seconds": 4.1})
    costs = costs_of([first, first], keeps=False)
    assert costs is not None
    assert min(costs) > 0


class Clocked(Solver):
    """The solver with a clock of its own: seconds of starting, compiling and measuring, each run a little off."""

    keeps = True

    def __init__(self, seed: int, starting: float, compiling: float, keeps: bool) -> None:
        super().__init__()
        self.chance, self.starting, self.compiling, self.keeps = random.Random(seed), starting, compiling, keeps
        self.kept: list[Config] = []

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        trial = super().__call__(step, number, limit)
        known = step.config in (self.kept if self.keeps else self.kept[-2:])
        self.kept = [*(one for one in self.kept if one != step.config), step.config]
        compiling = 0.0 if known else self.compiling * self._a_little_off()
        seconds = self.starting * (1.1 if known else 1.0) * self._a_little_off() + compiling
        return trial._replace(seconds=seconds, detail={"agreed": True, "compile_seconds": compiling})

    def _a_little_off(self) -> float:
        return math.exp(self.chance.gauss(0, 0.04))

    @property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        return ()


@given(st.integers(0, 10**6), st.floats(0.3, 20), st.floats(0, 30), st.booleans(), st.floats(1.0, 3.0))
@settings(max_examples=4, deadline=None)
def test_a_budget_for_the_proof_and_a_few_runs_proves_the_gain_and_is_kept(
    seed: int, starting: float, compiling: float, keeps: bool, generous: float
) -> None:
    """Two starts and a few changes, then the proof: a winner, and hardly more than the budget."""
    new, again = starting + compiling, 1.3 * starting
    budget = generous * (8 * new + 15 * again + (0 if keeps else 2 * new))
    with TemporaryDirectory() as place:
        search = drive(space(), Clocked(seed, starting, compiling, keeps), Journal(Path(place) / "j", ABOUT), budget)
    assert any(contest.won for contest in search.contests)
    assert sum(trial.seconds for trial in search.trials) <= budget + 2 * new
