"""Where ``jaxgpu_tune.step()`` leaves its marks while the program is watched. A mark stands at the end of a step."""

from __future__ import annotations

from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["begins", "mark", "stamps", "total"]

MOST = 40_000
stamps: list[float] = []
_dropped: list[int] = []
begins: list[Callable[[], None]] = []
"""Told of the first mark."""


def mark() -> None:
    """A step ends here. Nothing is synchronised."""
    if not stamps:
        for begin in begins:
            begin()
    stamps.append(perf_counter())
    if len(stamps) > MOST:
        _dropped.append(MOST // 2 - 1)
        del stamps[1 : MOST // 2]  # the first tells the time to the first step


def total() -> int:
    """All marks so far."""
    return len(stamps) + sum(_dropped)
