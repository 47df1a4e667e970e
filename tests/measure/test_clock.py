"""The period of a loop from the stamps of its calls, whatever way the program runs ahead of its device."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.measure.clock import FINE, PAUSE, ROUGH, Period, _bursts, percentile, period
from tests.child import ROOT

DISPATCH = 30e-6
QUEUE = 32


def loop(
    step: float,
    calls: int,
    every: int = 1,
    noise: float = 0.02,
    *,
    pauses: dict[int, float] | None = None,
    queue: int = QUEUE,
    dispatch: float = DISPATCH,
) -> list[float]:
    """When a host calls a step that takes the device ``step`` seconds, and waits for it at every ``every``-th call.

    The device takes at most ``queue`` calls ahead: 32 in JAX's GPU client, fewer where their kernels fill CUDA's own queue.
    ``pauses``: seconds spent elsewhere after a call; ``dispatch``: about what a call takes the host, in seconds.
    """
    dice = random.Random(calls)
    now, free, ends, stamps = 0.0, 0.0, [0.0] * queue, []
    for call in range(calls):
        now = max(now, ends[-queue])
        stamps.append(now)
        free = max(now, free) + step * dice.gauss(1, noise)
        ends.append(free)
        now += dispatch * dice.uniform(0.8, 2)
        if (call + 1) % every == 0:
            now = max(now, free)
        now += (pauses or {}).get(call, 0.0)
    return stamps


@settings(deadline=None)
@given(st.sampled_from([0.002, 0.02, 0.3]), st.sampled_from([1, 2, 5, 10, 25, 100, 10**9]), st.integers(0, 99))
def test_period_is_the_steps_however_often_it_synchronises(step: float, every: int, offset: int) -> None:
    """Within 1 % of the truth and what a dispatch takes, when the stamps begin anywhere."""
    calls = 300 if every <= 10 else 1500 if every <= 100 else 400
    found = period(loop(step, calls, every)[offset:])
    assert found is not None and found.sure
    assert found.seconds == pytest.approx(step, rel=0.01, abs=2 * DISPATCH)
    assert found.error < 0.02


@settings(deadline=None)
@given(
    st.sampled_from([3, 5, 10, 25, 100]),
    st.integers(1, 32) | st.just(1000),
    st.sampled_from([0.005, 0.03]),
    st.integers(0, 99),
)
def test_period_is_the_steps_however_few_calls_the_device_takes_ahead(
    every: int, queue: int, noise: float, offset: int
) -> None:
    """As a window grows, the first period that is sure is right: it holds whole turns of calls that run ahead, fill the queue and wait.

    A window lasts some tenths of a second at the least, as a measurement does: a hundred calls in 4 ms tell nothing of a device that takes them all ahead.
    """
    stamps = loop(0.02, 1500, every, noise, queue=queue)[offset:]
    windows = (stamps[:end] for end in range(60, len(stamps), 5) if stamps[end - 1] - stamps[0] > 0.2)
    found = next(found for window in windows if (found := period(window)) is not None and found.sure)
    assert found.seconds == pytest.approx(0.02, rel=0.02)


@settings(deadline=None)
@given(st.sampled_from([5, 10, 25]), st.floats(0.05, 0.3), st.integers(1, 4), st.integers(0, 99))
def test_a_host_that_needs_a_part_of_a_step_for_each_call_is_timed_by_whole_turns(
    every: int, share: float, queue: int, offset: int
) -> None:
    """Two GPUs, 54 ms a step, 10 ms a call: gaps of 10, 32, seven times 54 and 120 ms. Four turns tell it to 0.3 %, as many single gaps to 5 %."""
    stamps = loop(0.05, 1500, every, 0.003, queue=queue, dispatch=0.05 * share)[offset:]
    windows = (stamps[:end] for end in range(20, len(stamps), 5) if stamps[end - 1] - stamps[0] > 1.2)
    found = next(found for window in windows if (found := period(window)) is not None and found.sure)
    assert found.seconds == pytest.approx(0.05, rel=0.005 + 2 * found.error)
    sharp = next(found for window in windows if (found := period(window)) is not None and found.error <= FINE)
    assert sharp.seconds == pytest.approx(0.05, rel=0.01)


def test_calls_of_an_fsdp_step_on_two_gpus_are_timed_wherever_the_window_begins() -> None:
    """Measured: gaps of 10, 32, seven times 54 and 120 ms, over and over; 53.8 ms a step. Counted one by one they tell it to 5 %, turn by turn to 0.3 %."""
    stamps = json.loads((ROOT / "benchmarks" / "results" / "call-stamps-h200x2-0.11.2.json").read_text())["at"]
    for begin in range(20, 60):
        windows = (stamps[begin:end] for end in range(begin + 20, len(stamps), 3))
        found = next(found for window in windows if (found := period(window)) is not None and found.sure)
        assert found.calls <= 70 and not found.each
        assert found.seconds == pytest.approx(0.0538, rel=0.003)


def test_gaps_that_differ_and_repeat_nothing_are_counted_one_by_one() -> None:
    dice = random.Random(1)
    found = period([0.0, *itertools.accumulate(dice.gauss(50, 5) for _ in range(60))])
    assert found is not None and found.each


@pytest.mark.parametrize("gaps", [[50 + 0.1 * n for n in range(300)], [50.0] * 150 + [60.0] * 150])
def test_calls_that_become_slower_repeat_nothing(gaps: list[float]) -> None:
    """Neighbours are alike there, as are all that are not far from each other: each call is one by itself."""
    found = period([0.0, *itertools.accumulate(gaps)])
    assert found is not None and found.error > FINE and found.each


def test_gaps_that_hardly_differ_are_counted_one_by_one_though_they_repeat() -> None:
    found = period([0.0, *itertools.accumulate([50.0, 50.2] * 200)])
    assert found is not None and found.error <= FINE and found.each


@pytest.mark.parametrize(("calls", "each"), [(59, True), (60, False)])
def test_a_turn_is_one_that_was_seen_to_repeat_twice(calls: int, each: bool) -> None:
    dice = random.Random(1)
    turn = [dice.uniform(30, 70) for _ in range(20)]
    found = period([0.0, *itertools.accumulate((turn * 3)[:calls])])
    assert found is not None and found.each is each


def test_what_varies_as_much_as_it_lasts_is_not_sure() -> None:
    """Ten calls are enough where they tell the period to 5 %, four where they agree."""
    assert not Period(1.0, 10, 10, 0, 0.0, ROUGH * 1.01, ()).sure and Period(1.0, 10, 10, 0, 0.0, ROUGH, ()).sure
    assert not Period(1.0, 9, 9, 0, 0.0, FINE * 1.01, ()).sure and Period(1.0, 40, 4, 0, 0.0, FINE, ()).sure
    assert not Period(1.0, 30, 3, 0, 0.0, 0.0, ()).sure


@settings(deadline=None)
@given(st.sampled_from([1, 10]), st.floats(0.5, 8))
def test_pauses_are_taken_out_and_told(every: int, pause: float) -> None:
    """A checkpoint every hundred steps is no part of the step."""
    found = period(loop(0.02, 600, every, pauses={99: pause, 199: pause, 299: pause, 399: pause, 499: pause}))
    assert found is not None and found.sure
    assert found.seconds == pytest.approx(0.02, rel=0.02)
    assert found.pauses == 5
    assert found.paused_seconds == pytest.approx(5 * pause, rel=0.3)


def test_what_comes_often_is_part_of_the_loop() -> None:
    """A log line that takes time at every tenth step counts, whether the steps are waited for or not."""
    for every in (1, 10):
        found = period(loop(0.002, 400, every, pauses=dict.fromkeys(range(9, 400, 10), 0.03)))
        assert found is not None and found.sure and found.pauses == 0
        assert found.seconds == pytest.approx(0.005, rel=0.02)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, PAUSE - 1, PAUSE, PAUSE + 1]), st.integers(1, 9)), min_size=1))
def test_each_burst_is_measured_or_a_pause(parts: list[tuple[float, int]]) -> None:
    """Never both, never neither: all seconds are those of steps or those that were lost."""
    whole = [(each * calls, calls) for each, calls in [(1.0, 1)] * (len(parts) + 1) + parts]
    found = _bursts(whole, [])
    lost = sum(calls for took, calls in whole if took > PAUSE * calls)
    assert (found.bursts + found.pauses, found.calls + lost) == (len(whole), sum(calls for _, calls in whole))
    assert found.seconds * found.calls + found.paused_seconds + lost == pytest.approx(sum(took for took, _ in whole))


def test_few_bursts_are_not_sure() -> None:
    """Three bursts are counted whole, and said to be few."""
    found = period(loop(0.02, 35, 10))
    assert found is not None and not found.sure
    assert found.seconds == pytest.approx(0.02, rel=0.02)


def test_too_few_calls_have_no_period() -> None:
    """Nothing is guessed."""
    assert period([]) is None and period([1.0, 2.0, 3.0]) is None


def test_equal_stamps_do_not_divide_by_zero() -> None:
    """A clock that stands still has a period of nothing."""
    found = period([1.0] * 10)
    assert found is not None and found.seconds == 0


def test_percentile_is_the_nearest_rank() -> None:
    """Of a hundred values the 99th; of few the largest."""
    assert percentile(range(1, 101), 99) == 99
    assert percentile([3.0, 1.0, 2.0], 99) == 3.0
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
