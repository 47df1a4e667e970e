"""Stamps of every call of a jitted function, by ``sys.monitoring`` (Python 3.12): no profiler, nothing of the program changed.

Calls are watched in the functions that called what was compiled or met jax's slow path (``cache_miss``, at the first call of each kind),
in jax's own ``Compiled.__call__`` (programs compiled ahead of time), and for a moment everywhere if none of these is seen to call anything.
Where something else is called, a place is not watched again.
"""

from __future__ import annotations

import sys
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

__all__ = ["Calls", "outside_caller"]

WRAPPER = "reraise_with_filtered_traceback"

JITTED = frozenset({"PjitFunction", "PmapFunction"})
TOOL_IDS = (4, 3, 5)
"""0 to 2 are for debuggers, coverage and profilers."""
MOST_OF_A_NAME = 64
MOST_STAMPS = 40_000


class Calls:
    """``stamps``: when each function was called (perf_counter), the newest MOST_STAMPS; ``counts``: how often in all; ``threads``: by which.

    ``of_jax``: those that are jax's own, as its operations on arrays are, which a program calls one by one while it prepares.
    """

    def __init__(self) -> None:
        self.stamps: dict[tuple[str, int], list[float]] = {}
        self.counts: dict[tuple[str, int], int] = {}
        self.of_jax: set[tuple[str, int]] = set()
        self.threads: dict[str, int] = {}
        self._codes: set[CodeType] = set()
        self._tool: int | None = None
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def start(self) -> bool:
        """Take a free tool; False where there is none, or Python is older than 3.12."""
        self._tool = next((tool for tool in TOOL_IDS if self._take(tool)), None)
        if self._tool is None:
            return False
        events = self._monitoring.events
        self._monitoring.register_callback(self._tool, events.CALL, self._on_call)
        self._monitoring.register_callback(self._tool, events.PY_START, self._on_slow_path)
        from jax import stages

        self._watch(stages.Compiled.__call__.__code__)
        return True

    def _take(self, tool: int) -> bool:
        try:
            self._monitoring.use_tool_id(tool, "jaxgpu_tune")
        except (AttributeError, ValueError):
            return False
        return True

    def compiled_in(self, slow_path: FrameType) -> None:
        """jax's ``cache_miss`` ran: whoever called it calls a jitted function, now and each time that it runs again."""
        if self._tool is None:
            return
        if slow_path.f_code not in self._codes:
            self._codes.add(slow_path.f_code)
            self._monitoring.set_local_events(self._tool, slow_path.f_code, self._monitoring.events.PY_START)
        caller = outside_caller(slow_path)
        if caller is not None:
            self._watch(caller.f_code)

    def _on_slow_path(self, code: CodeType, _offset: int) -> None:
        """Called by Python where ``cache_miss`` begins: short, and must not raise."""
        frame = sys._getframe().f_back  # noqa: SLF001 - the only way to the program's own frame
        caller = outside_caller(frame) if frame is not None and frame.f_code is code else None
        if caller is not None:
            self._watch(caller.f_code)

    def everywhere(self, wanted: bool) -> None:
        """Watch all calls, or no longer. Each place costs one look, after which those that call nothing jitted are left alone."""
        if self._tool is not None:
            self._monitoring.set_events(self._tool, self._monitoring.events.CALL if wanted else 0)

    def stop(self) -> None:
        """Go away."""
        if self._tool is None:
            return
        self.everywhere(False)
        for code in self._codes:
            self._monitoring.set_local_events(self._tool, code, 0)
        for event in (self._monitoring.events.CALL, self._monitoring.events.PY_START):
            self._monitoring.register_callback(self._tool, event, None)
        self._monitoring.free_tool_id(self._tool)
        self._tool = None

    def _watch(self, code: CodeType) -> None:
        if self._tool is not None and code not in self._codes:
            self._codes.add(code)
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.CALL)

    def _on_call(self, code: CodeType, _offset: int, called: object, _argument: object) -> object:
        """Called by Python before each call that is watched: short, and must not raise."""
        called = getattr(called, "__func__", called)
        if type(called).__name__ not in JITTED:
            return self._monitoring.DISABLE
        key = (getattr(called, "__name__", "?"), id(called))
        try:
            stamps = self.stamps[key]
        except KeyError:
            key, stamps = self._new(key, code, str(getattr(called, "__module__", "")))
        stamps.append(perf_counter())
        self.counts[key] += 1
        if len(stamps) > MOST_STAMPS:
            del stamps[: MOST_STAMPS // 2]
        return None

    def _new(self, key: tuple[str, int], code: CodeType, module: str) -> tuple[tuple[str, int], list[float]]:
        """A function that was not called before. A program that makes new ones for ever shares one list from some number on."""
        if sum(name == key[0] for name, _ in self.stamps) >= MOST_OF_A_NAME:
            key = (key[0], 0)
        self.counts.setdefault(key, 0)
        if module.partition(".")[0] == "jax":
            self.of_jax.add(key)
        self.threads[key[0]] = get_ident()
        self._watch(code)
        return key, self.stamps.setdefault(key, [])


def outside_caller(slow_path: FrameType) -> FrameType | None:
    """The frame that called the jitted function: above ``cache_miss`` and jax's own wrapper of it, which cleans tracebacks."""
    frame = slow_path.f_back
    while frame is not None and frame.f_code.co_name == WRAPPER:
        frame = frame.f_back
    return frame
