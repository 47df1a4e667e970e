"""Compilations as jax.monitoring tells them: which function, when, how long, and whether the cache had it.

``backend_compile_duration`` comes for a program out of the compilation cache as well; ``cache_hits`` comes right before it,
in the same thread. The function's name is told from jax 0.6.2 on; before that it is read off the frame that called jax.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple

__all__ = ["Compile", "Compiles"]

TRACE, LOWER, COMPILE = (
    f"/jax/core/compile/{name}_duration" for name in ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile")
)
HIT = "/jax/compilation_cache/cache_hits"
MOST = 2000
BELIEVED = 60.0
"""Seconds: tracing a large program tells of its parts more often than that; a compilation that takes longer lets no step run."""


class Compile(NamedTuple):
    """One compilation: when it ended (by perf_counter), its seconds; ``cached``: read from the compilation cache."""

    name: str
    at: float
    seconds: float
    cached: bool


class Compiles:
    """Listens. ``work``: seconds of tracing, lowering and compiling by function, which tell how large each is.

    ``last``: when the newest tracing, lowering or compilation ended; ``open``: how many of them are going on (told from jax 0.6.2 on).
    ``called``: told jax's own frame that a call went through which was then compiled. ``begins``: told that there is something to look at.
    """

    def __init__(self, called: Callable[[FrameType], None], begins: Callable[[], None]) -> None:
        self.all: list[Compile] = []
        self.work: dict[str, float] = {}
        self.last, self.open, self._moved = 0.0, 0, 0.0
        self._called, self._begins, self._hit = called, begins, threading.local()

    def listen(self) -> None:
        """Register, again where the program has cleared all listeners."""
        from jax._src import monitoring

        if self.on_duration not in monitoring._event_duration_secs_listeners:  # noqa: SLF001 - no public list before 0.4.37
            monitoring.register_event_duration_secs_listener(self.on_duration)
        if self.on_event not in monitoring._event_listeners:  # noqa: SLF001
            monitoring.register_event_listener(self.on_event)
        if self.on_start not in getattr(monitoring, "_scalar_listeners", [self.on_start]):
            monitoring.register_scalar_listener(self.on_start)

    def on_event(self, event: str, **_: Any) -> None:
        """A cache hit is for the next compilation of this thread."""
        if event == HIT:
            self._hit.seen = True

    def on_start(self, event: str, value: float, **_: Any) -> None:  # noqa: ARG002 - jax passes it by name
        """Called by jax where one of them begins, at ``value``. A function that is traced calls others, whose calls are no steps."""
        if event in (TRACE, LOWER, COMPILE):
            self.open, self._moved = self.open + 1, perf_counter()

    def is_busy(self, now: float) -> bool:
        """Whether something is being traced or compiled. What fails ends without a word, so it is not believed for ever."""
        return self.open > 0 and now - max(self._moved, self.last) < BELIEVED

    def on_duration(self, event: str, duration_secs: float, **told: Any) -> None:
        """Called by jax, in the thread that compiles: must not raise."""
        if event not in (TRACE, LOWER, COMPILE):
            return
        frame = _caller(sys._getframe())  # noqa: SLF001 - the only way to the program's own frame
        name = _plain(told.get("fun_name")) or _name(frame)
        self.work[name] = self.work.get(name, 0.0) + duration_secs
        self.last, self.open = perf_counter(), max(0, self.open - 1)
        if event != COMPILE:
            return
        cached, self._hit.seen = getattr(self._hit, "seen", False), False
        if len(self.all) < MOST:
            self.all.append(Compile(name, self.last, duration_secs, cached))
        if frame is not None:
            self._called(frame)
        self._begins()


def _caller(frame: FrameType | None) -> FrameType | None:
    """jax's own ``cache_miss``, which C++ calls for a jitted function without a program; None where nobody called one."""
    while frame is not None and not (frame.f_code.co_name == "cache_miss" and "jax" in frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _name(frame: FrameType | None) -> str:
    """The function's, as ``cache_miss`` holds it: by itself, or until 0.4.30 or so within what it knows of the jit."""
    held = {} if frame is None else frame.f_locals
    function = held.get("fun") or getattr(held.get("jit_info"), "fun", None)
    return str(getattr(function, "__name__", "?"))


def _plain(name: Any) -> str:
    """The function's own name: lowering and compiling tell ``jit(train_step)``."""
    text = str(name or "")
    return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text
