"""Calls of jitted functions, seen while they are made: which, how often, and nothing else of the program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import get_ident

import jax
import jax.numpy as jnp
import pytest

from jaxgpu_tune.measure.observer import calls as module
from jaxgpu_tune.measure.observer.calls import TOOL_IDS, Calls

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is Python 3.12's")


@jax.jit
def step(x: jax.Array) -> jax.Array:
    return x + 1


@pytest.fixture
def calls() -> Iterator[Calls]:
    """Watching, and gone at the end."""
    found = Calls()
    assert found.start()
    yield found
    found.stop()


def names(calls: Calls) -> dict[str, int]:
    """How often each function was called."""
    return {key[0]: count for key, count in calls.counts.items()}


@needs_monitoring
def test_calls_are_stamped_in_order_wherever_they_are_made(calls: Calls) -> None:
    """Everywhere for a moment, and from then on where something jitted was called."""
    x = step(jnp.ones(()))  # compiled by now

    def loop(steps: int) -> None:
        for _ in range(steps):
            len("not jitted")
            step(x)

    calls.everywhere(True)
    loop(1)
    calls.everywhere(False)
    loop(4)
    step(x)
    assert names(calls) == {"step": 5}
    ((key, stamps),) = calls.stamps.items()
    assert stamps == sorted(stamps) and len(stamps) == 5
    assert calls.threads == {"step": get_ident()} and key not in calls.of_jax
    calls.stop()
    loop(1)
    assert names(calls) == {"step": 5}


@needs_monitoring
def test_jaxs_own_operations_are_known_as_such(calls: Calls) -> None:
    x = jnp.ones(3)
    calls.everywhere(True)
    for _ in range(2):
        jnp.where(x > 0, x, 0)
    step(x)
    assert {key[0] for key in calls.stamps} > {"step"}
    assert {key[0] for key in calls.stamps} - {key[0] for key in calls.of_jax} == {"step"}


@needs_monitoring
def test_what_is_kept_is_bounded_and_what_is_counted_is_not(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest stamps; a program that makes a new function for each call fills one list from some number on."""
    monkeypatch.setattr(module, "MOST_STAMPS", 10)
    monkeypatch.setattr(module, "MOST_OF_A_NAME", 3)
    x = step(jnp.ones(()))
    calls.everywhere(True)
    for _ in range(25):
        step(x)
    assert calls.counts[("step", id(step))] == 25 and len(calls.stamps[("step", id(step))]) <= 10
    kept = [jax.jit(step.__wrapped__) for _ in range(5)]
    for one in kept:
        one(x)
    assert sum(calls.counts.values()) == 30 and len(calls.stamps) == 4
    assert calls.counts[("step", 0)] == 3


@needs_monitoring
def test_tools_that_others_have_are_left_to_them() -> None:
    """A debugger, a profiler, another observer; where all are taken it says that it sees nothing."""
    taken = [tool for tool in TOOL_IDS if sys.monitoring.get_tool(tool) is None]
    for tool in taken:
        sys.monitoring.use_tool_id(tool, "theirs")
    try:
        calls = Calls()
        assert not calls.start()
        calls.everywhere(True)
        calls.stop()
        assert [sys.monitoring.get_tool(tool) for tool in taken] == ["theirs"] * len(taken)
    finally:
        for tool in taken:
            sys.monitoring.free_tool_id(tool)


def test_before_python_3_12_there_is_nothing_to_see_calls_by() -> None:
    calls = Calls()
    calls._monitoring = None
    assert not calls.start() and calls.stamps == {}
    calls.stop()
