"""The watch over one process: what it takes for the steady state, and what it tells where there was none."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from jaxgpu_tune.measure.observer import heard_marks
from jaxgpu_tune.measure.observer.compiles import Compile
from jaxgpu_tune.measure.observer.run_folder import Notes
from jaxgpu_tune.measure.observer.watch import SETTLE, Watch

STEP, OTHER, OF_JAX = ("step", 1), ("other", 2), ("add", 3)


@pytest.fixture(autouse=True)
def _no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_marks, "stamps", [])


def watch(folder: Path, now: float, compiled: float = 10.0, every: float = 0.1, **asked: Any) -> Watch:
    """Of a process that began a minute ago, compiled its step ``compiled`` seconds ago and has called it ``every`` so often since."""
    (folder / "request.json").write_text(json.dumps(asked))
    found = Watch(str(folder), Notes(str(folder / "process")), now - 60, {"pid": 5})
    found.compiles.last = now - compiled
    found.compiles.all.append(Compile("step", now - compiled, 2.0, False))
    found.compiles.work = {"step": 2.0, "other": 0.01}
    called(found, STEP, now, int(compiled / every), every)
    return found


def called(watch: Watch, key: tuple[str, int], now: float, times: int, every: float) -> None:
    """Up to now."""
    watch.calls.stamps[key] = [now - every * number for number in reversed(range(times))]
    watch.calls.counts[key] = times


@pytest.mark.parametrize(("trace", "state"), [(None, "done"), ({"steps": 3}, "measured")])
def test_a_steady_loop_is_measured_without_what_came_right_after_compiling(
    tmp_path: Path, trace: object, state: str
) -> None:
    """And traced after that, if a trace is asked for."""
    now = perf_counter()
    found = watch(tmp_path, now, seconds=3.0, trace=trace)
    assert found._is_steady(now)
    found._measure(now)
    assert (found.state, found.clock, found.function) == (state, "calls", "step")
    assert found.found is not None and found.found.seconds == pytest.approx(0.1)
    begin, end = found.window
    assert 60 - 10 + SETTLE <= begin < 60 - 10 + SETTLE + 0.2 and end == pytest.approx(60)
    assert found.first_step == pytest.approx(now - 9.9)


def test_it_waits_for_as_much_as_is_asked_for(tmp_path: Path) -> None:
    now = perf_counter()
    found = watch(tmp_path, now, seconds=20.0)
    assert not found._is_steady(now)
    found._measure(now)
    assert (found.state, found.found) == ("waiting", None)


def test_a_loop_that_is_over_is_not_the_programs(tmp_path: Path) -> None:
    """A function that is not called any more belongs to the preparations."""
    now = perf_counter()
    found = watch(tmp_path, now, seconds=1.0)
    called(found, STEP, now - 5, 40, 0.1)
    found._measure(now)
    assert found.state == "waiting"


def test_while_jax_compiles_or_only_its_own_operations_run_nothing_is_steady(tmp_path: Path) -> None:
    """The latter may be all that a program does, so it is waited longer and then believed."""
    now = perf_counter()
    found = watch(tmp_path, now, seconds=3.0)
    found.compiles.open, found.compiles._moved = 1, now
    assert not found._is_steady(now)
    found.compiles.open = 0
    found.calls.of_jax.add(STEP)
    assert not found._is_steady(now)
    assert found._is_steady(now + 3.0)


def test_the_function_with_the_most_work_is_the_step(tmp_path: Path) -> None:
    """Not the most called, not jax's own; the one that is asked for; the program's own marks before all."""
    now = perf_counter()
    found = watch(tmp_path, now)
    called(found, OTHER, now, 1000, 0.01)
    called(found, OF_JAX, now, 9, 0.01)
    found.calls.of_jax.add(OF_JAX)
    found.compiles.work["add"] = 1e6
    assert found._best()[:2] == ("calls", "step")
    found.request["function"] = "other"
    assert found._best()[:2] == ("calls", "other")
    found.request["function"] = "none"
    assert found._best() == ("", "", [])
    heard_marks.stamps.extend([now - 1, now])
    assert found._best() == ("marks", "", [now - 1, now])


def test_a_program_that_ends_early_tells_what_there_was(tmp_path: Path) -> None:
    """The longest stretch without a compilation."""
    now = perf_counter()
    found = watch(tmp_path, now, compiled=6.0, seconds=100.0)
    found.compiles.all.append(Compile("other", now - 1.0, 0.1, False))
    found.finish()
    told = json.loads((tmp_path / "process" / "report.json").read_text())
    assert (told["state"], told["ended"], told["pid"], told["function"]) == ("ended", True, 5, "step")
    assert told["period"]["seconds"] == pytest.approx(0.1)
    assert told["window_s"][1] < 59.1


def test_a_program_without_a_step_ends_without_a_period(tmp_path: Path) -> None:
    found = Watch(str(tmp_path), Notes(str(tmp_path)), perf_counter(), {})
    found.finish()
    told = json.loads((tmp_path / "report.json").read_text())
    assert (told["state"], told["period"], told["steps"], told["error"]) == ("ended", None, 0, None)


def test_settings_count_when_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """jax's options at its import, XLA's when its backend starts, NCCL's when something is first compiled; later changes do nothing."""
    names = ("JAX_LOG_COMPILES", "XLA_FLAGS", "NCCL_PROTO")

    def now(text: str) -> None:
        for name in names:
            monkeypatch.setenv(name, text)

    now("import")
    found = Watch(str(tmp_path), Notes(str(tmp_path)), perf_counter(), {})
    now("start")
    found.backend_starts()
    now("computation")
    found.begin()
    now("too late")
    found.begin()
    found.finish()
    told = json.loads((tmp_path / "report.json").read_text())["settings"]
    assert [told[name] for name in names] == ["import", "start", "computation"]


def test_where_no_start_was_seen_the_first_computation_s_settings_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for GPUs that are not there, or in a jax that starts otherwise. After a mark the start may still come."""
    found = Watch(str(tmp_path), Notes(str(tmp_path)), perf_counter(), {})
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    found.begin()
    assert found.settings["XLA_FLAGS"] == "--xla_a=1"
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=2")
    found.backend_starts()
    found.finish()
    assert found.settings["XLA_FLAGS"] == "--xla_a=2"


def test_a_forked_child_begins_anew_with_a_report_of_its_own(tmp_path: Path) -> None:
    now = perf_counter()
    found = watch(tmp_path, now)
    found._measure(now)
    heard_marks.stamps.append(now)
    found.forked(Notes(str(tmp_path / "child")))
    assert (found.state, found.found, found.calls.stamps, found.compiles.all) == ("waiting", None, {}, [])
    found.finish()
    assert json.loads((tmp_path / "child" / "report.json").read_text())["forked"] is True


def test_without_any_call_seen_a_trace_is_the_last_resort(tmp_path: Path) -> None:
    """Where calls can be seen at all it is waited for them longer."""
    now = perf_counter()
    found = watch(tmp_path, now, seconds=3.0)
    assert not found._sees_nothing(now)
    found.calls.stamps.clear()
    assert not found._sees_nothing(now)
    found.blind = True
    assert found._sees_nothing(now)
