"""What a run of a search tells: its time, its numbers, what was compiled, and where its seconds went."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.readout import (
    detail_of,
    gpus_used,
    how_numbers_differ,
    milliseconds,
    moments,
    numbers_apart,
    numbers_shown,
    program_fingerprint,
)
from jaxgpu_tune.measure.watched import Compilation, Process


def test_numbers_are_held_against_the_references() -> None:
    nan, inf = float("nan"), float("inf")
    assert how_numbers_differ((1.0, 2.0), (1.0, 2.01), 0.01) == ""
    assert "number 2 is 2 instead of 2.1" in how_numbers_differ((1.0, 2.0), (1.0, 2.1), 0.01)
    assert how_numbers_differ((1.0, nan), (1.0, 2.0), 0.5)
    assert how_numbers_differ((inf,), (2.0,), 0.5)
    assert how_numbers_differ((nan,), (nan,), 0.01) == ""
    assert how_numbers_differ((1.0,), (1.0, 5.0), 0.01) == ""
    assert how_numbers_differ((0.0,), (0.0,), 0.0) == ""


@given(st.floats(), st.floats())
def test_how_far_two_numbers_are_apart(one: float, other: float) -> None:
    """The same both ways, nothing for equal ones, relative to the larger."""
    apart = numbers_apart(one, other)
    assert apart == numbers_apart(other, one) and apart >= 0 and numbers_apart(one, one) == 0
    assert (apart == float("inf")) == (isfinite(one) != isfinite(other)) or apart > 1e300


HOW = How(("x",), Path())
COMPILED = (Compilation("step", 3.0, 2.0, cached=False), Compilation("step", 4.0, 1.0, cached=True))


def ran(seconds: float, *, function: str = "step", bursts: int = 4, **more: Any) -> Process:
    """A process whose step takes so long; of a single burst nobody knows how far that is off."""
    period = Period(seconds, 4, bursts, 0, 0.0, 0.01, ())
    return Process(1, "", clock="calls", function=function, period=period, **more)


def outcome(*processes: Process, **more: Any) -> RunOutcome:
    """Of these."""
    return RunOutcome(**{"status": "ok", "cause": "", "command": (), "folder": "", **more}, processes=processes)


@pytest.mark.parametrize(
    ("run", "how", "ms"),
    [
        (outcome(ran(0.004)), HOW, 4.0),
        (outcome(ran(0.004, rank=0), ran(0.005, rank=1)), HOW, 5.0),
        (outcome(ran(0.004, rank=0), ran(9.0, rank=1, function="data")), HOW, 4.0),
        (outcome(Process(1, "")), HOW, None),
        (outcome(ran(0.004, bursts=0)), HOW, None),
        (outcome(ran(0.004, bursts=1)), HOW, None),
        (outcome(ran(0.004), seconds=7.0), HOW._replace(clock="whole"), 7000.0),
        (outcome(ran(0.004, compilations=COMPILED), seconds=7.0), HOW._replace(clock="whole"), 5000.0),
        (outcome(ran(0.004, compilations=COMPILED), seconds=1.5), HOW._replace(clock="whole"), 1.0),
        (outcome(metric=(2.0, 4.0, 3.0)), HOW._replace(clock="metric"), 3.0),
        (outcome(metric=(2.0, 4.0, 3.0)), HOW._replace(clock="metric", higher_is_better=True), 1e3 / 3),
        (outcome(metric=()), HOW._replace(clock="metric"), None),
        (outcome(metric=(0.5,)), HOW._replace(clock="metric"), 0.5),
        (outcome(metric=(-1.0,)), HOW._replace(clock="metric"), None),
    ],
)
def test_what_a_step_took(run: RunOutcome, how: How, ms: float | None) -> None:
    """Of the slowest process that runs it; the whole run without what it compiled, which a second one would not; or the median of a metric, of which less is better."""
    assert milliseconds(run, how) == (None if ms is None else pytest.approx(ms))


@pytest.mark.parametrize(
    ("devices", "used"),
    [
        ([], 0),
        ([{"platform": "gpu", "peak_bytes": 2**30}, {"platform": "gpu", "peak_bytes": 2**20}], 1),
        ([{"platform": "gpu", "peak_bytes": 2**30}, {"platform": "gpu", "peak_bytes": None}], None),
        ([{"platform": "cpu", "peak_bytes": None}], 0),
    ],
)
def test_gpus_that_hold_something_are_used(devices: list[dict[str, Any]], used: int | None) -> None:
    assert gpus_used(Process(1, "", devices=tuple(devices))) == used


def test_only_a_program_of_one_process_has_a_fingerprint() -> None:
    """Helpers without jax do not count; the processes of a job may compile different programs."""
    one = ran(1.0, jax="0.11.2", program="abcd")
    assert program_fingerprint((one, Process(2, ""))) == "abcd"
    assert program_fingerprint((one, one)) == program_fingerprint(()) == ""


def test_the_first_numbers_are_compared(tmp_path: Path) -> None:
    """Losses, or what the user's pattern finds; ten of them; none where nothing was kept."""
    output = tmp_path / "output.txt"
    output.write_text("".join(f"loss: {n}.5 x={n}\n" for n in range(20)))
    run = outcome(output=str(output))
    assert numbers_shown(run, HOW) == tuple(n + 0.5 for n in range(10))
    assert numbers_shown(run, HOW._replace(numbers=r"x=(\d+)")) == tuple(map(float, range(10)))
    assert numbers_shown(outcome(output=str(tmp_path / "gone")), HOW) == numbers_shown(outcome(), HOW) == ()


def test_where_the_seconds_of_a_run_went() -> None:
    compiled = (Compilation("b", 9.0, 2.0, cached=False), Compilation("a", 6.0, 4.0, cached=True))
    told = moments(Process(1, "", jax_s=1.234, compilations=compiled, window_s=(10.0, 13.0), seconds=14.0), 15.0)
    assert told == {
        "jax": 1.23,
        "compiling": 2.0,
        "compiled": 9.0,
        "measuring": 10.0,
        "measured": 13.0,
        "reported": 14.0,
        "ended": 15.0,
    }
    assert moments(Process(1, ""), 15.0)["compiling"] is None


def test_what_is_kept_of_a_run_is_plain() -> None:
    """As a journal keeps it."""
    found = detail_of(outcome(ran(0.004, kinds=("loops",)), exit_code=-15), (1.0, 2.0), "why")
    assert json.loads(json.dumps(found)) == dict(found)
    assert (found["numbers"], found["cause"], found["clock"], found["kinds"], found["processes"]) == (
        *([1.0, 2.0], "why", "calls", ["loops"]),
        1,
    )
    nothing = detail_of(outcome(status="died"), (), "")
    assert (nothing["function"], nothing["gpus_used"], nothing["error"], nothing["moments"]) == ("", None, None, {})


def test_ranks_that_print_alike_show_each_number_once(tmp_path: Path) -> None:
    """Else settings would be blamed for the order in which the lines of two ranks come."""
    text = tmp_path / "output.txt"
    text.write_text("loss 3.0\nloss 2.0\nloss 3.0\nloss 2.0\nloss 1.0\n")
    ranks = tuple(Process(number, "", jax="0.11.2") for number in (1, 2))
    outcome = RunOutcome("ok", "", ("x",), str(tmp_path), output=str(text), processes=ranks)
    assert numbers_shown(outcome, How(("x",), tmp_path)) == (3.0, 2.0, 1.0)
    assert numbers_shown(outcome._replace(processes=ranks[:1]), How(("x",), tmp_path)) == (3.0, 2.0, 3.0, 2.0, 1.0)
