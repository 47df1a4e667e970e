"""The observer's trace: begun and ended by the main thread while nothing runs, and in nobody's way."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from tests.child import told

COMMON = """
    import importlib, sys, threading, time
    import jax, jax.numpy as jnp
    from jaxgpu_tune.measure.observer import tracing

    module = tracing._profiler()
    Real = module.ProfilerSession
    said = []

    class Session:
        def __init__(self, *given):
            said.append(("begin", threading.current_thread() is threading.main_thread()))
            self.real = Real(*given)

        def stop(self):
            ready = all(one.is_ready() for one in jax.live_arrays())
            said.append(("end", threading.current_thread() is threading.main_thread(), ready))
            return self.real.stop()

    module.ProfilerSession = Session

    @jax.jit
    def step(x):
        for _ in range(5):
            x = jnp.tanh(x @ x) / 10
        return x

    x = step(jnp.ones((300, 300)))
    result = []

    def observe(seconds=0.5):
        try:
            result.append(tracing.record(seconds, {}))
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=observe)
"""

LOOP = """
    thread.start()
    while thread.is_alive():
        x = step(x)
    content, cut = result[0]
    tell({"said": said, "size": len(content), "cut": cut, "restored": module.ProfilerSession is Session})
"""

THEIRS = """
    thread = threading.Thread(target=observe, args=(30.0,))
    thread.start()
    while not said:
        x = step(x)
    own = module.ProfilerSession(module.ProfileOptions())
    own.stop()
    thread.join()
    content, cut = result[0]
    tell({"cut": cut, "size": len(content), "restored": module.ProfilerSession is Session, "begins": len(said)})
"""

AWAY = """
    tracing.PATIENCE = 0.5

    def observe_late():
        time.sleep(0.3)
        observe()

    thread = threading.Thread(target=observe_late)
    thread.start()
    thread.join()
    for _ in range(100):
        x = step(x)
    tell({"error": repr(result[0]), "said": said, "restored": module.ProfilerSession is Session})
"""

AWAY_AT_THE_END = """
    tracing.PATIENCE = 0.5
    thread.start()
    while not said:
        x = step(x)
    thread.join()
    while len(said) < 2:
        x = step(x)
    tell({"error": repr(result[0]), "said": said, "restored": module.ProfilerSession is Session})
"""

WORK = """
    def fails():
        raise KeyError("mine")

    def ask():
        result.append(tracing.in_main_thread(lambda: threading.current_thread() is threading.main_thread()))
        try:
            tracing.in_main_thread(fails)
        except KeyError as error:
            result.append(repr(error))

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
    tell([*result, tracing.in_main_thread(lambda: 5)])
"""


def after(code: str) -> Any:
    """What a child tells that runs this after the common part."""
    return told(dedent(COMMON) + dedent(code), JAX_PLATFORMS="cpu")


def test_a_session_begins_and_ends_in_the_main_thread_while_nothing_runs() -> None:
    """Although another thread asks for it, and the program launches step after step."""
    found = after(LOOP)
    assert found["said"] == [["begin", True], ["end", True, True]]
    assert found["size"] > 1000 and not found["cut"] and found["restored"]


def test_the_programs_own_session_ends_ours_first() -> None:
    """And gets one of its own at once."""
    found = after(THEIRS)
    assert found["cut"] and found["size"] > 0 and found["restored"] and found["begins"] == 4


def test_a_main_thread_that_does_not_come_is_not_waited_for() -> None:
    """No session is begun then, not even later."""
    found = after(AWAY)
    assert "did not come back to Python" in found["error"] and found["said"] == [] and found["restored"]


def test_a_session_is_ended_by_the_main_thread_however_late() -> None:
    """What it holds is lost, but the program is not slowed for ever."""
    found = after(AWAY_AT_THE_END)
    assert "did not come back to Python" in found["error"] and found["restored"]
    assert found["said"] == [["begin", True], ["end", True, True]]


def test_work_for_the_main_thread_gives_what_it_gives_and_raises_what_it_raises() -> None:
    """In the main thread itself it is done at once."""
    assert after(WORK) == [True, "KeyError('mine')", 5]
