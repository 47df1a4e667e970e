"""Compilations as jax tells them: of which function, when, how long, and whether the cache had it."""

from __future__ import annotations

from types import FrameType

import jax
import jax.numpy as jnp
import pytest
from jax._src import monitoring

from jaxgpu_tune.measure.observer import compiles as module
from jaxgpu_tune.measure.observer.compiles import BELIEVED, COMPILE, HIT, LOWER, MOST, TRACE, Compiles, _plain

LISTENERS = ("_event_listeners", "_event_duration_secs_listeners", "_scalar_listeners")


class Heard:
    """What the listener told of."""

    def __init__(self) -> None:
        self.frames: list[FrameType] = []
        self.begun = 0
        self.compiles = Compiles(self.frames.append, self.begin)

    def begin(self) -> None:
        self.begun += 1


def test_a_compilation_is_told_with_its_function_and_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the program has cleared all listeners; what is compiled already is told no more."""
    for name in LISTENERS:
        monkeypatch.setattr(monitoring, name, [], raising=False)
    heard, x = Heard(), jnp.ones(())
    heard.compiles.listen()
    heard.compiles.listen()
    assert monitoring._event_listeners == [heard.compiles.on_event]

    @jax.jit
    def train_step(x: jax.Array) -> jax.Array:
        return x * 3

    train_step(x)
    train_step(x)
    (one,) = heard.compiles.all
    assert (one.name, one.cached) == ("train_step", False) and one.seconds > 0
    assert heard.compiles.work["train_step"] >= one.seconds and heard.compiles.last == one.at
    assert [frame.f_code.co_name for frame in heard.frames] == ["cache_miss"] and heard.begun == 1
    assert not heard.compiles.is_busy(one.at)


def test_a_hit_of_the_cache_is_for_the_next_compilation() -> None:
    compiles = Heard().compiles
    compiles.on_event("/jax/other")
    compiles.on_event(HIT)
    for event in (TRACE, LOWER, COMPILE, COMPILE, "/jax/other"):
        compiles.on_duration(event, 0.5, fun_name="jit(step)")
    assert [(one.name, one.seconds, one.cached) for one in compiles.all] == [
        ("step", 0.5, True),
        ("step", 0.5, False),
    ]
    assert compiles.work == {"step": 2.0}


def test_what_goes_on_is_busy_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails ends without a word."""
    monkeypatch.setattr(module, "perf_counter", lambda: 100.0)
    compiles = Heard().compiles
    compiles.on_start("/jax/other", 1.0)
    assert not compiles.is_busy(100.0)
    compiles.on_start(TRACE, 1.0)
    assert compiles.is_busy(100.0) and not compiles.is_busy(100.0 + BELIEVED)
    compiles.on_duration(TRACE, 0.1)
    compiles.on_duration(COMPILE, 0.1)
    assert not compiles.is_busy(100.0) and compiles.open == 0


def test_what_is_kept_is_bounded() -> None:
    """A program that compiles at each step; its work is still summed."""
    compiles = Heard().compiles
    for _ in range(MOST + 5):
        compiles.on_duration(COMPILE, 1.0, fun_name="f")
    assert len(compiles.all) == MOST and compiles.work == {"f": MOST + 5.0}


@pytest.mark.parametrize(
    ("told", "name"), [("f", "f"), ("jit(f)", "f"), ("pmap(jit(f))", "jit(f)"), (None, ""), ("a)", "a)")]
)
def test_the_functions_own_name(told: str | None, name: str) -> None:
    """Lowering and compiling tell it within what transformed it."""
    assert _plain(told) == name
