"""What is told of a watch: times since the start of the process, the largest functions, and only what JSON can hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.observer import heard_marks
from jaxgpu_tune.measure.observer.compiles import Compile
from jaxgpu_tune.measure.observer.report import MOST_FUNCTIONS, MOST_NAMES, report_of
from jaxgpu_tune.measure.observer.run_folder import Notes
from jaxgpu_tune.measure.observer.watch import Watch
from jaxgpu_tune.measure.watched import read_processes


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Of a process whose clock said 1000 when it began."""
    monkeypatch.setattr(heard_marks, "stamps", [])
    monkeypatch.setattr(heard_marks, "_dropped", [])
    return Watch(str(tmp_path), Notes(str(tmp_path / "process-1")), 1000.0, {"pid": 7, "argv": ["train.py"]})


def test_all_that_was_seen_is_read_back(watch: Watch, tmp_path: Path) -> None:
    """As ``read_processes`` reads it, through the file."""
    watch.compiles.all.append(Compile("step", 1003.0, 2.0, True))
    watch.compiles.work["step"] = 2.5
    watch.calls.stamps["step", 1] = [1004.0, 1005.0]
    watch.calls.counts["step", 1] = 12
    watch.first_step, watch.window, watch.clock, watch.function = 1004.0, [4.0, 5.0], "calls", "step"
    watch.found = Period(0.5, 4, 4, 0, 0.0, 0.1, (0.5,))
    watch.notes.write(report_of(watch))
    (read,) = read_processes(tmp_path)
    assert (read.pid, read.argv, read.clock, read.function, read.period) == (
        *(7, ("train.py",), "calls", "step"),
        watch.found,
    )
    (compilation,) = read.compilations
    assert (compilation.name, compilation.at_s, compilation.seconds, compilation.cached) == ("step", 3.0, 2.0, True)
    assert (read.first_step_s, read.window_s, read.steps, read.work) == (4.0, (4.0, 5.0), 12, {"step": 2.5})


def test_the_largest_functions_are_told_and_no_more(watch: Watch) -> None:
    """By their calls, each weighed by what there was to compile."""
    for number in range(100):
        watch.calls.stamps[f"f{number}", number] = [1001.0]
        watch.calls.counts[f"f{number}", number] = 3
        watch.compiles.work[f"f{number}"] = float(number)
    told = json.loads(json.dumps(report_of(watch)))
    assert [one["name"] for one in told["functions"]] == [f"f{99 - n}" for n in range(MOST_FUNCTIONS)]
    assert told["functions"][0] == {"name": "f99", "calls": 3, "work_s": 99.0}
    assert list(told["work"]) == [f"f{99 - n}" for n in range(MOST_NAMES)]


def test_marks_count_steps_where_the_program_makes_them(watch: Watch) -> None:
    watch.first_step = 1009.0
    watch.calls.counts["step", 1] = 5
    assert (report_of(watch)["steps"], report_of(watch)["first_step_s"]) == (5, 9.0)
    heard_marks.stamps.extend([1002.0, 1003.0])
    assert (report_of(watch)["steps"], report_of(watch)["first_step_s"]) == (2, 2.0)


def test_before_anything_happened_there_is_little_to_tell(watch: Watch) -> None:
    told = json.loads(json.dumps(report_of(watch)))
    assert (told["state"], told["steps"], told["compiles"], told["functions"]) == ("waiting", 0, [], [])
    assert (
        told["first_step_s"] is None
        and told["period"] is None
        and told["now_s"] == pytest.approx(told["jax_s"], abs=60)
    )
