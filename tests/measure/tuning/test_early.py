"""The next run, started while one is measured: as far as its first device, and let go, or ended, or given up."""

from __future__ import annotations

import os
from pathlib import Path

from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.search.trials import NOTHING, Config
from jaxgpu_tune.measure.starting import StartedRun, start
from jaxgpu_tune.measure.tuning.early import Early
from jaxgpu_tune.measure.watched import Process


def tried(early: Early, folder: Path, *seen: Process) -> bool:
    """Whether a run is started early after one in which these processes were seen."""
    begun: list[int] = []

    def begin(_config: Config, number: int, hold: bool) -> StartedRun:
        begun.append(number)
        return start(("sleep", "60"), folder, os.environ, {}, hold=hold)

    if seen:
        early.learn(RunOutcome("ok", "", ("x",), "", "", processes=seen))
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
