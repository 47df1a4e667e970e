"""The loop: its budget, its journal, what it does when it is killed, and the preset that it writes."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting, JaxGpuTuneError
from jaxgpu_tune.host.observe import observe
from jaxgpu_tune.knowledge.candidates import starts
from jaxgpu_tune.measure.search.search import SLOW
from jaxgpu_tune.measure.search.trials import Config, Step, Trial
from jaxgpu_tune.measure.statistics import PAIRS
from jaxgpu_tune.measure.tuning.costs import RISKY, SLOWEST
from jaxgpu_tune.measure.tuning.drive import drive
from jaxgpu_tune.measure.tuning.journal import Journal, trial_json, trial_of
from jaxgpu_tune.measure.tuning.slots import Place
from jaxgpu_tune.measure.tuning.space import Space, space_of
from jaxgpu_tune.measure.tuning.tune import Files, files_of, tune_with
from jaxgpu_tune.measure.tuning.tuned import Tuned
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.request import make_request
from tests.child import ROOT, clean_environ

H200 = {"jaxlib": "0.11.2", "jax": "0.11.2", "gpus": [{"compute_capability": "9.0", "name": "NVIDIA H200"}]}
ABOUT = {"command": ["python", "train.py"]}


@lru_cache
def space(*kinds: str) -> Space:
    return space_of(make_request(), observe({}, Machine.from_dict(H200), live=False), starts(), kinds=kinds)


class Solver:
    """Stands for the machine: an ODE solver as it was measured, CONCURRENT a loss, WHILE in graphs a gain, both together a hang.

    ``seconds``: of a run, by its own clock, whatever the test machine takes for it.
    """

    def __init__(self, seconds: float = 0.001, hangs: bool = False) -> None:
        self.seconds, self.hangs, self.runs = seconds, hangs, 0
        self.limits: list[float | None] = []
        self.mode = 1.04

    def __call__(self, step: Step, _number: int, limit: float | None, _ahead: Step | None = None) -> Trial:
        self.runs += 1
        self.limits.append(limit)
        time.sleep(min(self.seconds, 0.01))
        text = " ".join(map(str, step.config))
        noise = random.Random(f"{sorted(step.config)} {self.runs}").gauss(0, 0.004)
        took = {"seconds": self.seconds, "detail": {"agreed": True}}
        if self.hangs and "CONCURRENT" in text and "+WHILE" in text:
            return Trial(step.config, step.purpose, None, "hang", **took)
        ms = 6.0 * (self.mode if "CONCURRENT" in text else 1) * (0.72 if "+WHILE" in text else 1) * math.exp(noise)
        return Trial(step.config, step.purpose, ms, **took)

    keeps = ends = True
    findings = ()

    def places(self, _first: Trial) -> tuple[Place, ...]:
        """One at a time."""
        return ()

    def close(self) -> None:
        """Nothing is left."""

    def learn(self, _trial: Trial) -> None:
        """Nothing to learn."""


def searched(tmp_path: Path, run: Solver, budget: float = 1.0) -> tuple[Tuned, Files]:
    files = files_of(tmp_path / "tuned.toml")
    return tune_with(space(), run, files, ABOUT, (budget, None)), files


def test_a_budget_too_small_for_the_check_proves_nothing_and_more_of_it_goes_on(tmp_path: Path) -> None:
    run = Solver(0.02)
    first, files = searched(tmp_path, run, budget=0.2)
    assert first.path is None
    assert len(first.trials) < 12
    again, _ = searched(tmp_path, run, budget=3.0)
    assert [one.config for one in again.trials[: len(first.trials)]] == [one.config for one in first.trials]
    assert again.path == str(files.preset)
    assert run.runs == len(again.trials)


def test_what_hangs_is_tried_once_under_a_limit_that_follows_from_the_others(tmp_path: Path) -> None:
    run = Solver(0.001, hangs=True)
    run.mode = 0.97
    found, _ = searched(tmp_path, run, budget=60.0)
    assert [one.failure for one in found.trials].count("hang") == 1
    assert all(limit is not None and limit < 30 for limit in run.limits[1:])


def test_what_ran_before_hangs_sooner_than_what_is_new(tmp_path: Path) -> None:
    """What it takes is known; what is new may compile for long. In the proof a single slow run must not lose the winner."""
    run = Solver(seconds=10.0)
    search = drive(space(), run, Journal(tmp_path / "j", ABOUT), 400.0)
    seen: set[Config] = set()
    for trial, limit in list(zip(search.trials, run.limits, strict=True))[1:]:
        known = (trial.config in seen or not trial.config) and trial.purpose != "check"
        known |= search.risk(trial.config) == "dies"
        factor, more = RISKY if known else (SLOW if search.is_slow(trial.config) else SLOWEST[0], SLOWEST[1])
        assert limit == factor * 10.0 + more
        seen.add(trial.config)


def test_a_hang_in_the_last_run_of_a_proof_takes_little_more_than_the_budget(tmp_path: Path) -> None:
    """A tenth; a run as long as two others is no hang."""

    class Ending(Solver):
        def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
            trial = super().__call__(step, number, limit, ahead)
            self.proof = getattr(self, "proof", 0) + (step.purpose == "check")
            hangs = self.proof == 2 * PAIRS and limit is not None
            return trial._replace(ms=None, failure="hang", seconds=limit) if hangs else trial

    run = Ending(seconds=3.0)
    search = drive(space(), run, Journal(tmp_path / "j", ABOUT), 56.0)
    *_, last = (trial for trial in search.trials if trial.failure == "hang")
    assert last.seconds < RISKY[0] * 3.0 + RISKY[1] and last.seconds >= 6.0
    assert sum(trial.seconds for trial in search.trials) <= 56.0 * 1.1 + 0.01


class Timed(Solver):
    """The solver as it runs by processes within four minutes: 13 s for what is new, 11 s after that; a hang lasts until it is ended."""

    new, again = 13.0, 11.0

    def __init__(self, hangs: bool, mode: float, luck: float = 1.0) -> None:
        super().__init__(hangs=hangs)
        self.mode, self.luck = mode, luck
        self.known: set[Config] = set()

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
        trial = super().__call__(step, number, limit, ahead)
        new = step.config not in self.known
        self.known.add(step.config)
        if trial.ms is None:
            return trial._replace(seconds=limit)
        ms = trial.ms * (self.luck if self.runs == 2 else 1.0)
        return trial._replace(ms=ms, seconds=self.new if new else self.again, detail={"agreed": True})


WHILE = "--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL"


def test_a_lucky_preset_does_not_hide_what_may_hang_together_with_it(tmp_path: Path) -> None:
    """As measured once: CONCURRENT looked 1.13 times as fast by luck. WHILE in graphs is then tried without it, and soon."""
    run = Timed(hangs=True, mode=1.04, luck=0.85)
    search = drive(space("loops", "small-kernels"), run, Journal(tmp_path / "j", ABOUT), 240.0)
    assert WHILE in [str(one) for trial in search.trials[2:4] for one in trial.config]
    assert [(len(contest.challenger), contest.won) for contest in search.contests] == [(1, True)]
    assert sum(trial.seconds for trial in search.trials) <= 240


@pytest.mark.parametrize("hangs", [False, True])
def test_a_risky_pair_that_may_change_much_is_the_last_that_a_budget_has_room_for(tmp_path: Path, hangs: bool) -> None:
    """Whether it hangs or not, the proof is still paid for."""
    run = Timed(hangs, mode=0.93)
    search = drive(space("loops", "small-kernels"), run, Journal(tmp_path / "j", ABOUT), 300.0)
    tried = [trial for trial in search.trials if trial.purpose == "toggle"]
    risky = [search.risk(trial.config) == "dies" for trial in tried]
    assert sum(risky) == 1 or not hangs
    assert len(tried) - risky.index(True) <= 3
    assert [(len(contest.challenger), contest.won) for contest in search.contests] == [(1 if hangs else 2, True)]
    assert sum(trial.seconds for trial in search.trials) <= 300


@pytest.mark.parametrize("hangs", [False, True])
def test_four_minutes_are_enough_for_the_pair_that_gains_most(tmp_path: Path, hangs: bool) -> None:
    """An ODE solver on one H200 took 15 s for what is new and 9 s after that. One search took 9 s for 13 and closed with 71 s unused."""
    run = Timed(hangs, mode=0.96)
    run.new, run.again = 15.0, 9.2
    search = drive(space("loops", "small-kernels"), run, Journal(tmp_path / "j", ABOUT), 240.0)
    assert [(len(contest.challenger), contest.won) for contest in search.contests] == [(1 if hangs else 2, True)]
    assert 210 <= sum(trial.seconds for trial in search.trials) <= 240


def test_where_nobody_can_end_what_hangs_no_pair_is_tried_that_may(tmp_path: Path) -> None:
    run = Solver(0.001, hangs=True)
    run.mode, run.ends = 0.97, False
    found, _ = searched(tmp_path, run)
    assert "hang" not in [one.failure for one in found.trials]
    assert found.path is not None


@pytest.mark.parametrize(
    ("failure", "said", "hint"),
    [
        ("died", "The program fails as it is (died): no such file.", "Run it by itself"),
        ("hang", "The program has no steps in time (hang): no such file.", "Give it more time (--timeout"),
        ("refused", "XLA refuses a setting as it is (refused): no such file.", "jaxgpu-tune check"),
        ("nan", "The program's numbers are not finite as it is (nan): no such file.", "bisect --nan"),
        ("no-steady-state", "The program runs, but no step of it can be timed: no such file.", "--metric REGEX"),
        ("no-metric", "The program runs, but prints no number above 0 to go by: no such file.", "Mend the pattern"),
    ],
)
def test_a_program_that_fails_as_it_is_ends_the_search_and_is_not_kept(
    failure: str, said: str, hint: str, tmp_path: Path
) -> None:
    """How it fails is told, and what helps then."""

    class Dead(Solver):
        def __call__(self, step: Step, _number: int, _limit: float | None, _ahead: Step | None = None) -> Trial:
            (tmp_path / "tuned.runs" / "001").mkdir(parents=True)
            (tmp_path / "tuned.runs" / "001" / "output.txt").write_text("said")
            return Trial(step.config, step.purpose, None, failure, detail={"cause": "no such file"})

    with pytest.raises(JaxGpuTuneError) as caught:
        searched(tmp_path, Dead())
    (finding,) = caught.value.findings
    assert finding.message == said and hint in finding.hint
    assert Path(finding.hint.partition("Its output: ")[2]).resolve() == tmp_path / "tuned.runs" / "001" / "output.txt"
    assert Journal(files_of(tmp_path / "tuned.toml").journal, ABOUT).trials == []


def test_half_a_line_is_not_a_trial_and_is_written_over(tmp_path: Path) -> None:
    config: Config = space().starts[1].config
    trial = Trial(config, "start", 1.5, "", 2.0, "p", {"numbers": [1.0]})
    assert trial_of(json.loads(json.dumps(trial_json(trial)))) == trial
    path = tmp_path / "journal.jsonl"
    Journal(path, ABOUT).add(trial)
    with path.open("ab") as file:
        file.write(b'{"config": [["xla' + b"_" * 1000)
    again = Journal(path, ABOUT)
    assert again.trials == [trial]
    again.add(trial)
    assert Journal(path, ABOUT).trials == [trial, trial] and path.read_bytes().endswith(b"}\n")


KILLED = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tests.measure.tuning.test_drive import Solver, searched
found, files = searched(Path(sys.argv[1]), Solver(0.01), budget=60.0)
print(len(found.trials), found.path is not None)
"""


@pytest.mark.slow
def test_killed_twenty_times_it_loses_nothing(tmp_path: Path) -> None:
    """SIGKILL at random moments: what was on the disk is still there, and the search comes to the end that it would have come to."""
    journal, chance, kills = files_of(tmp_path / "tuned.toml").journal, random.Random(7), 0
    before: list[str] = []
    while kills < 20:
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], env=clean_environ())
        while not journal.exists():
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.35))
        child.kill()
        if child.wait() != -signal.SIGKILL:
            break
        kills += 1
        whole = journal.read_text().splitlines(keepends=True)
        now = [line for line in whole if line.endswith("\n")]
        assert now[: len(before)] == before
        before = now
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env=clean_environ(), capture_output=True, text=True, check=True
    )
    runs, proved = done.stdout.split()
    assert proved == "True"
    trials = Journal(journal, ABOUT).trials
    assert len(trials) == int(runs)
    assert [json.dumps(trial_json(one)) + "\n" for one in trials][: len(before) - 1] == before[1:]
    assert os.path.getsize(journal) > 0


def test_the_driver_says_how_it_stands_after_each_run(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []
    drive(
        *(space(), Solver(0.001), Journal(tmp_path / "j", ABOUT), 1.0),
        lambda search, left: seen.append((len(search.trials), left)),
    )
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    assert [left for _, left in seen] == sorted((left for _, left in seen), reverse=True)


def test_a_journal_without_a_trial_gives_way_to_another_search_and_one_with_a_trial_does_not(tmp_path: Path) -> None:
    path = tmp_path / "tuned.runs" / "journal.jsonl"
    Journal(path, {"command": ["pythonn", "train.py"]})
    Journal(path, ABOUT).add(Trial(frozenset(), "start", 10.0, 1.0))
    assert len(Journal(path, ABOUT).trials) == 1
    with pytest.raises(BadSetting, match="What differs: command"):
        Journal(path, {"command": ["python", "other.py"]})
