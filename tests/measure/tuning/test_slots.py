"""Candidates side by side: where, when, and what the search makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Event, get_ident
from time import sleep

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Step, Trial
from jaxgpu_tune.measure.tuning import trying
from jaxgpu_tune.measure.tuning.answer import doubts
from jaxgpu_tune.measure.tuning.drive import drive
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.journal import Journal
from jaxgpu_tune.measure.tuning.slots import Place, Slot, at_once, is_disturbed, on_its_cores, slots_of, steps_together
from jaxgpu_tune.measure.tuning.trying import CommandRuns
from jaxgpu_tune.model import Machine
from tests.child import ROOT, clean_environ
from tests.measure.atoms import atom
from tests.measure.tuning.test_drive import ABOUT, H200, Solver, space
from tests.measure.tuning.test_space import space as space_here

ALONE = Trial(NOTHING, "start", 10.0, "", 13.0, "", {"processes": 1, "gpus_used": 1})


def test_there_is_a_slot_for_each_gpu_of_a_program_that_uses_one() -> None:
    """Each with a share of the cores, as far as there are enough."""
    several = Machine.from_dict({**H200, "gpus": [{"name": "NVIDIA H200", "compute_capability": "9.0", "count": 2}]})
    slots = slots_of(several, ALONE)
    assert [slot.environ for slot in slots] == [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]
    cores = [slot.cores for slot in slots]
    assert not cores[0] & cores[1]
    for other in ({"gpus_used": 2}, {"gpus_used": None}, {"processes": 2}):
        assert slots_of(several, ALONE._replace(detail={**ALONE.detail, **other})) == ()
    assert slots_of(Machine.from_dict(H200), ALONE) == ()


def test_runs_at_once_are_told_in_their_order_and_share_their_seconds() -> None:
    meet = Barrier(3, timeout=30)
    threads: set[int] = set()

    def run(number: int, _stop: Event) -> Trial:
        meet.wait()
        threads.add(get_ident())
        return ALONE._replace(ms=float(number))

    trials = at_once([partial(run, number) for number in range(3)])
    assert [trial.ms for trial in trials] == [0.0, 1.0, 2.0]
    assert [trial.detail["slot"] for trial in trials] == [0, 1, 2]
    assert len({trial.detail["spent"] for trial in trials}) == 1
    assert len(threads) == 3


def test_what_interrupts_runs_at_once_ends_them_all(tmp_path: Path) -> None:
    """Ctrl-C reaches this thread only; each command has a session of its own, and would go on for its minute."""
    run = CommandRuns(space_here(gpus=0, environ={"PATH": os.environ["PATH"]}), How(("sleep", "60"), tmp_path))
    beside = partial(run._beside, Slot("0"), Step(NOTHING, "start"), 1, None)
    ended = []

    def interrupted(_stop: Event) -> Trial:
        while not (tmp_path / "001" / "output.txt").exists():
            sleep(0.01)
        raise KeyboardInterrupt

    def command(stop: Event) -> Trial:
        with pytest.raises(CancelledError):
            beside(stop)
        ended.append(stop.is_set())
        return ALONE

    with pytest.raises(KeyboardInterrupt):
        at_once([interrupted, command])
    assert ended == [True]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux")
@pytest.mark.parametrize(
    ("following", "together"), [("toggle a", 1), ("toggle b", 2), ("prune b", 1), ("check b", 1), ("", 1)]
)
def test_what_runs_together_differs_and_is_for_one_purpose(following: str, together: int) -> None:
    def step(text: str) -> Step | None:
        purpose, _, name = text.partition(" ")
        return Step(frozenset([atom(f"{name}=1")]), purpose) if text else None  # type: ignore[arg-type]

    first = step("toggle a")
    assert first is not None and len(steps_together(first, 2, lambda _: step(following))) == together


def test_what_a_slot_starts_keeps_to_its_cores() -> None:
    before = os.sched_getaffinity(0)
    one = frozenset([min(before)])
    with on_its_cores(Slot("0", one)):
        seen = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert seen.stdout.strip() == str(set(one))
    assert os.sched_getaffinity(0) == before


class Several(Solver):
    """The solver on several GPUs, by a clock of its own; ``neighbour``: how many times as long a step takes beside others."""

    def __init__(self, count: int, neighbour: float = 1.0) -> None:
        super().__init__(hangs=True)
        self.count, self.neighbour = count, neighbour
        self.known: set[Config] = set()

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        trial = super().__call__(step, number, limit, ahead)
        new = step.config not in self.known
        self.known.add(step.config)
        detail = {"agreed": True, "compile_seconds": 4.0 if new else 0.0}
        return trial._replace(seconds=13.0 if new else 11.0, detail=detail)

    def places(self, _first: Trial) -> Sequence[Place]:  # type: ignore[override]
        return [self.beside] * self.count

    def beside(self, step: Step, number: int, limit: float | None, _stop: Event) -> Trial:
        trial = self(step, number, limit)
        spent = trial.seconds / self.count
        return trial._replace(ms=trial.ms and trial.ms * self.neighbour, detail={**trial.detail, "spent": spent})


def searched(run: Several, budget: float) -> Search:
    with TemporaryDirectory() as place:
        journal = Journal(Path(place) / "j", ABOUT)
        search = drive(space("loops", "small-kernels"), run, journal, budget)
        assert Journal(Path(place) / "j", ABOUT).trials == search.trials
        return search


@given(st.integers(2, 8))
@settings(max_examples=4, deadline=None)
def test_side_by_side_a_budget_tries_more_and_the_proof_runs_alone(count: int) -> None:
    one, several = (searched(Several(number), 260.0) for number in (1, count))
    tried = [{trial.config for trial in search.trials if trial.purpose == "toggle"} for search in (one, several)]
    assert len(tried[1]) > len(tried[0])
    assert [contest.won for contest in several.contests] == [True]
    assert not [trial for trial in several.trials if trial.purpose == "check" and "slot" in trial.detail]
    assert is_disturbed(several.trials) is False
    assert sum(trial.spent for trial in several.trials) <= 260


def test_where_neighbours_disturb_all_runs_alone_and_their_runs_teach_nothing() -> None:
    search = searched(Several(4, neighbour=1.1), 260.0)
    assert is_disturbed(search.trials) is True
    beside = [trial for trial in search.trials if "slot" in trial.detail]
    assert [(trial.purpose, trial.config, trial.failure) for trial in beside] == [("start", NOTHING, "disturbed")] * 4
    assert [contest.won for contest in search.contests] == [True]


def test_a_first_run_that_was_slow_does_not_hide_that_neighbours_disturb() -> None:
    class Late(Several):
        def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
            trial = super().__call__(step, number, limit, ahead)
            return trial._replace(ms=trial.ms and 1.3 * trial.ms) if self.runs == 1 else trial

    assert is_disturbed(searched(Late(4, neighbour=1.1), 260.0).trials) is True
    assert is_disturbed(searched(Late(4), 260.0).trials) is False


def test_what_the_program_dies_of_beside_others_does_not_excuse_a_setting() -> None:
    """Four at a time have no room in the host's memory; that is no failure of the program by itself."""
    dies = next(move.config for move in space("loops", "small-kernels").moves if len(move.config) == 1)

    class Crowded(Several):
        def beside(self, step: Step, number: int, limit: float | None, stop: Event) -> Trial:
            killed = {"cause": "killed", "spent": 3.0}
            return super().beside(step, number, limit, stop)._replace(ms=None, failure="died", detail=killed)

        def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
            trial = super().__call__(step, number, limit, ahead)
            return trial._replace(ms=None, failure="died") if dies <= step.config else trial

    search = searched(Crowded(4), 400.0)
    beside = [trial for trial in search.trials if "slot" in trial.detail]
    assert {(trial.failure, trial.detail["cause"]) for trial in beside} == {("disturbed", "died: killed")}
    assert sum(trial.failure == "died" for trial in search.trials) == 1
    assert [finding.code for finding in doubts(search)] == []


def test_what_was_started_ahead_is_ended_before_others_take_its_folders() -> None:
    told: list[str] = []

    class Ahead(Several):
        def close(self) -> None:
            told.append("end")

        def beside(self, step: Step, number: int, limit: float | None, stop: Event) -> Trial:
            told.append("beside")
            return super().beside(step, number, limit, stop)

    searched(Ahead(2), 260.0)
    rounds = "".join("E" if one == "end" else "b" for one in told).split("E")[1:]
    assert all(len(one) <= 2 for one in rounds) and "bb" in rounds


@pytest.mark.slow
def test_real_runs_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two places without GPUs: the programs run at the same time, each in its own folder."""
    program = (sys.executable, str(ROOT / "tests" / "measure" / "programs" / "tunable.py"), "100000")
    monkeypatch.setattr(trying, "slots_of", lambda _machine, _first: (Slot("0"), Slot("1")))
    run = CommandRuns(space_here(gpus=0, environ=dict(clean_environ(JAX_PLATFORMS="cpu"))), How(program, tmp_path, 0.3))
    first = run(Step(NOTHING, "start"), 1, 60.0)
    places = run.places(first)
    trials = at_once([partial(place, Step(NOTHING, "start"), 2 + n, 60.0) for n, place in enumerate(places)])
    assert [trial.failure for trial in trials] == ["", ""]
    assert all(trial.ms is not None and trial.ms < 20 for trial in trials)
    assert sum(trial.detail["spent"] for trial in trials) < 0.8 * sum(trial.seconds for trial in trials)
    assert sorted(path.name for path in tmp_path.glob("0*")) == ["001", "002", "003"]
