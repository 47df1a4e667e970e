"""The next run, started while one is measured: as far as its first device, and let go, or ended, or given up."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.search.trials import NOTHING, Config
from jaxgpu_tune.measure.starting import StartedRun, discard, start
from jaxgpu_tune.measure.tuning import early as early_module
from jaxgpu_tune.measure.tuning.early import Early
from jaxgpu_tune.measure.watched import Compilation, Process


def tried(early: Early, folder: Path, *seen: Process) -> bool:
    """Whether a run is started early after one in which these processes were seen."""
    begun: list[int] = []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(number)
        return start(("sleep", "60"), folder, os.environ, {}, hold=hold)

    if seen:
        early.learn(1, RunOutcome("ok", "", ("x",), "", processes=seen))
    early.prepare(2, NOTHING, begin)
    early.drop()
    return begun == [2]


def test_only_programs_of_one_process_are_started_early_and_not_before_that_is_known(tmp_path: Path) -> None:
    one, given_up = Process(1, "", jax="0.11.2"), Early()
    given_up.give_up()
    assert not tried(Early(), tmp_path)
    assert tried(Early(), tmp_path, one)
    assert tried(Early(), tmp_path, one, Process(2, ""))
    assert not tried(Early(), tmp_path, one, one)
    assert not tried(Early(), tmp_path, one._replace(rank=0, processes=2))
    assert not tried(given_up, tmp_path, one)


def test_the_second_run_starts_beside_the_first_as_soon_as_that_compiles_in_one_process(tmp_path: Path) -> None:
    """So the second tells what a later run costs, too. What turns out to have several processes is ended."""
    begun: list[int] = []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(number)
        return start(("sleep", "60"), tmp_path / str(len(begun)), os.environ, {}, hold=hold)

    importing = Process(1, "", jax="0.11.2", state="waiting", steps=75)
    compiling = importing._replace(compilations=(Compilation("f", 1.0, 2.0, False),))
    early = Early()
    early.prepare(2, NOTHING, begin)
    early.quiet((importing,))
    assert not begun
    early.quiet((compiling, Process(3, "")))
    assert begun == [2] and not early._paused, "small steps are part of setting up"
    early.quiet((compiling._replace(state="measuring"),))
    assert early._paused
    early.learn(1, RunOutcome("ok", "", ("x",), "", processes=(compiling, compiling._replace(pid=2))))
    assert early.taken(2, NOTHING) is None
    early.prepare(3, NOTHING, begin)
    early.quiet((compiling,))
    assert begun == [2], "it is known to have several"


def test_a_death_is_held_against_the_one_beside_it_until_one_went_well_like_that(tmp_path: Path) -> None:
    """A run is in doubt that was started early, or had another started beside it; afterwards a crash is the program's own."""

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        return start(("sleep", "60"), tmp_path / str(number), os.environ, {}, hold=hold)

    early, fine = Early(), RunOutcome("ok", "", ("x",), "", processes=(Process(1, "", jax="0.11.2"),))
    died = fine._replace(status="died")
    assert not early.may_be_why(1), "it ran alone"
    early.learn(1, fine)
    early.prepare(3, NOTHING, begin)
    assert early.may_be_why(2), "the third began beside it"
    early.learn(2, fine)
    third = early.taken(3, NOTHING)
    assert third is not None and early.may_be_why(3)
    early.learn(3, fine)
    assert early.may_be_why(3), "only one that was started early and had another beside it shows that both stand it"
    early.prepare(4, NOTHING, begin)
    early.learn(3, died)
    early.prepare(4, NOTHING, begin)
    assert early.may_be_why(3)
    early.learn(3, fine)
    assert not early.may_be_why(3)
    early.drop()
    discard(third)


@pytest.mark.parametrize("goes_on", [True, False])
def test_who_stands_still_beside_a_stopped_one_is_freed_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    """What was stopped may hold a lock. If the other one goes on then, none is started beside it again; else it was its own step."""
    clock = SimpleNamespace(**vars(time), now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(early_module, "time", clock)
    begun: list[StartedRun] = []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(start(("sleep", "60"), tmp_path / str(number), os.environ, {}, hold=hold))
        return begun[-1]

    running = Process(1, "", jax="0.11.2", steps=3, compilations=(Compilation("f", 1.0, 2.0, False),))
    early = Early()
    early.prepare(2, NOTHING, begin)
    for steps in (3, 4, 4):
        early.quiet((running._replace(steps=steps),))
        assert begun[0].child.poll() is None
        clock.now += early_module.STILL - 1
    clock.now += 2
    early.quiet((running._replace(steps=4),))
    assert begun[0].child.poll() is not None
    if goes_on:
        early.quiet((running._replace(steps=5),))
    early.learn(1, RunOutcome("ok", "", ("x",), "", processes=(running,)))
    assert early.taken(2, NOTHING) is None
    early.prepare(3, NOTHING, begin)
    assert len(begun) == (1 if goes_on else 2)
    early.drop()


def test_no_room_for_a_second_process_is_no_error(tmp_path: Path) -> None:
    def begin(_config: Config, _number: int, _hold: bool) -> StartedRun:
        return start(("no-such-command",), tmp_path, os.environ, {})

    early = Early()
    early.prepare(2, NOTHING, begin)
    early.quiet((Process(1, "", jax="0.11.2", compilations=(Compilation("f", 1.0, 2.0, False),)),))
    assert early.taken(2, NOTHING) is None and not early.may_be_why(1)


def test_a_plan_that_was_not_needed_is_forgotten(tmp_path: Path) -> None:
    """Else the run would be started a second time while it runs, in its own folder."""
    early, begun = Early(), []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(number)
        return start(("sleep", "60"), tmp_path, os.environ, {}, hold=hold)

    early.prepare(2, NOTHING, begin)
    assert early.taken(2, NOTHING) is None
    early.quiet((Process(1, "", jax="0.11.2", compilations=(Compilation("f", 1.0, 2.0, False),)),))
    assert begun == []
