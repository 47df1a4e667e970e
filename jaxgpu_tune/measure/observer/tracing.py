"""A trace of a few steps, begun and ended by the program's own thread while no device works, never over another session.

Ending a session takes CUPTI away (``cuptiFinalize``). With kernels in flight that has made the next kernel launch fail, and the program
with it (https://github.com/jax-ml/jax/issues/40260; seen with CUDA graphs on an H200, jax 0.11.2). So the main thread is asked to
do it, which it does between two of its own instructions: it waits for what it had launched, begins or ends the session, and goes on.

A process has one profiler session; a second raises ALREADY_EXISTS in whoever starts it. So while ours runs, whoever makes
a session (``jax.profiler``, AutoPGLE) ends ours first.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["OPTIONS", "end_now", "idle", "in_main_thread", "profile_options", "record", "session_of_the_program"]

OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0}
PATIENCE = 20.0
"""Seconds that the main thread has to come back to Python."""
_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_running: list[Callable[[], None]] = []
_asked: list[Any] = []
"""What Python still has to call must not be collected."""


def session_of_the_program() -> bool:
    """Whether the program traces just now by jax.profiler."""
    state = getattr(sys.modules.get("jax._src.profiler"), "_profile_state", None)
    return any(getattr(state, name, None) is not None for name in ("profile_session", "session"))


def in_main_thread(work: Any, *, later: bool = False) -> Any:
    """What ``work()`` gives, done by the main thread between two of its instructions. Raises what it raises.

    TimeoutError if it did not come in PATIENCE seconds; then nothing is done, or with ``later`` as soon as it does come.
    """
    done, begun = threading.Event(), threading.Lock()
    found: list[tuple[Any, Exception | None]] = []

    def call(_nothing: Any) -> int:
        if begun.acquire(blocking=False):
            try:
                found.append((work(), None))
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                found.append((None, error))
            done.set()
        return 0

    asked = _CALL(call)
    _asked.append(asked)
    if threading.current_thread() is threading.main_thread():
        call(None)
    elif ctypes.pythonapi.Py_AddPendingCall(asked, None) != 0:
        raise TimeoutError("the program's main thread has too much to do")
    if not done.wait(PATIENCE) and (later or begun.acquire(blocking=False)):
        raise TimeoutError("the program's main thread did not come back to Python")
    done.wait()
    value, error = found[0]
    if error is not None:
        raise error
    return value


def idle() -> None:
    """Wait until every device has done what was launched."""
    jax: Any = sys.modules["jax"]
    for array in jax.live_arrays():
        with suppress(
            Exception
        ):  # it was donated meanwhile, or what made it failed, which the program will hear itself
            array.block_until_ready()
    for device in jax.local_devices():
        with suppress(Exception):  # not every backend can
            device.synchronize_all_activity()


def end_now() -> None:
    """End what is being recorded, for the program ends. In the main thread."""
    for end in tuple(_running):
        end()


class _Recording:
    """A session of ours: while it runs, whoever makes one ends it first."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.over = threading.Event()
        self.content: list[bytes] = []
        self._module, self._options, self._lock = _profiler(), options, threading.Lock()
        self._make = self._module.ProfilerSession
        self._session: list[Any] = []

    def begin(self) -> None:
        idle()
        self._module.ProfilerSession = self._make_theirs
        self._session.append(self._make(profile_options(self._module, **self._options)))

    def end(self) -> None:
        with self._lock:
            if self._session and not self.content:
                idle()
                self.content.append(self._session[0].stop())
                self._module.ProfilerSession = self._make
        self.over.set()

    def give_up(self) -> None:
        """Leave the profiler as it was, if no session has begun."""
        if not self._session:
            self._module.ProfilerSession = self._make

    def _make_theirs(self, *args: Any, **named: Any) -> Any:
        self.end()
        return self._make(*args, **named)


def record(seconds: float, options: dict[str, Any]) -> tuple[bytes, bool]:
    """The serialized XSpace of that long, and whether the program's own session cut it short.

    Raises what the profiler raises, and TimeoutError where the main thread did not come back to Python.
    """
    ours = _Recording(options)
    _running.append(ours.end)
    try:
        in_main_thread(ours.begin)
        cut = ours.over.wait(seconds)
        if not ours.content:
            in_main_thread(ours.end, later=True)
    finally:
        _running.remove(ours.end)
        ours.give_up()
    return ours.content[0], cut


def profile_options(module: Any, **wanted: Any) -> Any:
    """Without Python's own calls, which would be most of a trace, unless they are wanted."""
    made = module.ProfileOptions()
    for name, value in {**OPTIONS, **wanted}.items():
        setattr(made, name, value)
    return made


def _profiler() -> Any:
    """jaxlib's own module: ``_profiler`` from 0.6 on, part of xla_client before."""
    lib: Any = sys.modules["jax._src.lib"]
    found = getattr(lib, "_profiler", None)
    return lib.xla_client.profiler if found is None else found
