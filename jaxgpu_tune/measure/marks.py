"""Optional marks in the user's loop, heard only where the program is watched."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeVar

    Item = TypeVar("Item")

__all__ = ["step", "steps"]

LISTENER = "_jaxgpu_tune_measure.observer.heard_marks"
"""The observer's own module, which is there only in a process that is watched."""


def step() -> None:
    """Mark the end of a step, for ``profile``, ``compare`` and ``tune``. Waits for nothing; without a listener it costs a look into a dict."""
    listener: Any = sys.modules.get(LISTENER)
    if listener is not None:
        listener.mark()


def steps(iterable: Iterable[Item]) -> Iterator[Item]:
    """The same items; each ends a step when the next one is asked for."""
    for item in iterable:
        yield item
        step()
