"""The clock of a program whose calls were read off a trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.host_clock import with_host_clock
from jaxgpu_tune.measure.watched import Process
from tests.traces import called, xspace


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    """Of a program that calls a small function often and a large one every 20 ms."""
    for name in ("jax", "jax.profiler"):
        monkeypatch.setitem(sys.modules, name, None)
    events = [event for number in range(40) for event in called("log", 5.0 * number, 0.1)]
    events += [event for number in range(12) for event in called("step", 20.0 * number)]
    (tmp_path / "trace").write_bytes(xspace(events))
    return Process(1, "", host_trace=str(tmp_path / "trace"), work={"step": 3.0, "log": 0.01})


def test_it_is_that_of_the_function_with_the_most_work(process: Process) -> None:
    found = with_host_clock(process)
    assert (found.function, found.steps) == ("step", 12)
    assert found.period is not None and found.period.seconds == pytest.approx(0.02)


def test_it_is_that_of_the_function_that_is_asked_for(process: Process) -> None:
    found = with_host_clock(process, "log")
    assert (found.function, found.steps) == ("log", 40)
    assert found.period is not None and found.period.seconds == pytest.approx(0.005)
    none = with_host_clock(process, "absent")
    assert (none.function, none.steps, none.period) == ("", 0, None)


def test_a_clock_that_is_there_stays_and_a_trace_that_cannot_be_read_gives_none(
    process: Process, tmp_path: Path
) -> None:
    period = Period(0.5, 4, 4, 0, 0.0, 0.1, (0.5,))
    for known in (process._replace(period=period), process._replace(host_trace=None)):
        assert with_host_clock(known) == known
    (tmp_path / "trace").write_bytes(b"PK this is none")
    assert with_host_clock(process) == process
    (tmp_path / "trace").unlink()
    assert with_host_clock(process) == process
