"""The clock that a comparison settles for, and what a run's value is by it."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.protocol import Protocol
from jaxgpu_tune.measure.readings import settled, value_of
from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.watched import Process

EACH = Period(0.5, 4, 4, 0, 0.0, 0.01, (0.25, 0.5, 0.5, 1.0))
AHEAD = EACH._replace(bursts=2)
MINE = Protocol()


def outcome(clock: str = "calls", period: Period | None = EACH, **more: Any) -> RunOutcome:
    """A run of one process."""
    processes = (Process(1, "", clock=clock, function="step" if clock == "calls" else "", period=period),)
    return RunOutcome(**{"status": "ok", "cause": "", "command": (), "folder": "", "processes": processes, **more})


@pytest.mark.parametrize(
    ("run", "protocol", "clock"),
    [
        (outcome("calls"), MINE, ("calls", "step")),
        (outcome("marks"), MINE, ("marks", "")),
        (outcome("trace"), MINE, ("trace", "")),
        (outcome(), MINE._replace(metric="x"), ("metric", "")),
        (outcome(), MINE._replace(metric="x", whole=True), ("metric", "")),
        (outcome(), MINE._replace(whole=True), ("whole", "")),
        (outcome(period=None), MINE, ("whole", "")),
        (outcome(period=EACH._replace(bursts=0)), MINE, ("whole", "")),
        (outcome(silent="it never called a step"), MINE, ("whole", "")),
        (outcome(processes=()), MINE, ("whole", "")),
        (outcome(processes=(), status="died"), MINE, ("", "")),
        (outcome(status="died"), MINE, ("calls", "step")),
    ],
)
def test_the_best_clock_that_the_first_run_allows(run: RunOutcome, protocol: Protocol, clock: tuple[str, str]) -> None:
    assert settled(run, protocol) == clock


@pytest.mark.parametrize(
    ("run", "clock", "protocol", "value"),
    [
        (outcome(seconds=9.0), "whole", MINE, 9.0),
        (outcome(), "calls", MINE, 0.5),
        (outcome(), "calls", MINE._replace(percentile=100.0), 1.0),
        (outcome(), "calls", MINE._replace(percentile=25.0), 0.25),
        (outcome(metric=(9.0, 1.0, 2.0, 3.0, 4.0)), "metric", MINE._replace(metric="x"), 2.5),
        (outcome(metric=(7.0,)), "metric", MINE._replace(metric="x"), 7.0),
    ],
)
def test_the_value_of_a_run(run: RunOutcome, clock: Any, protocol: Protocol, value: float) -> None:
    """Of a metric the median, without the first fifth of what was printed."""
    assert value_of(run, clock, protocol) == (value, "")


@pytest.mark.parametrize(
    ("run", "clock", "protocol", "why"),
    [
        (outcome(), "metric", MINE._replace(metric="loss"), "its output holds nothing that matches 'loss'"),
        (outcome(period=None), "calls", MINE, "no steady state was seen"),
        (outcome(processes=(), silent="it is no JAX"), "calls", MINE, "it is no JAX"),
        (outcome("calls"), "marks", MINE, "it was timed by calls, the reference by marks; these cannot be compared"),
        (
            outcome(period=AHEAD),
            "calls",
            MINE._replace(percentile=50.0),
            "a percentile needs a program that waits for the device at each step; this one seems to run ahead",
        ),
    ],
)
def test_why_a_run_has_no_value(run: RunOutcome, clock: Any, protocol: Protocol, why: str) -> None:
    assert value_of(run, clock, protocol) == (None, why)
