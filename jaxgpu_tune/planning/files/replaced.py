"""Where a Python program gives XLA_FLAGS another text, whatever was in it; or only where there was none."""

from __future__ import annotations

from ..xla_flags.grammar import FLAGS
from .flow import FlowEvent
from .late_settings import late_settings
from .mapped import HOLE
from .python_flow import python_flow

__all__ = ["assigned_anew", "passed_over_at"]


def assigned_anew(source: str) -> FlowEvent | None:
    """Of the lines outside all functions and choices that set it before JAX has started, the last that keeps nothing of what was there; its text with what is added behind it.

    None also for what is no Python.
    """
    found: FlowEvent | None = None
    events = [event for event in _always(source) if event.kind == "sets"]
    late = {one.line for one in late_settings(source) if one.name == FLAGS and not one.way} if events else set()
    for event in (one for one in events if one.at not in late):
        if found and event.keeps:
            found = found._replace(text=f"{found.text} {event.text.replace(HOLE, '')}")
        else:
            found = event if event.replaces else None
    return found


def passed_over_at(source: str) -> int | None:
    """The line, as above, of what acts only where the variable is not set: ``if "XLA_FLAGS" not in os.environ``, ``setdefault``."""
    return next((event.at for event in _always(source) if event.kind == "unless"), None)


def _always(source: str) -> list[FlowEvent]:
    """What the program does outside of functions and choices."""
    found, depth = [], 0
    try:
        for event in python_flow(source):
            depth += (event.kind in ("opens", "apart")) - (event.kind == "closes")
            found += [] if depth else [event]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last ones of what is nested deeply
        return []
    return found
