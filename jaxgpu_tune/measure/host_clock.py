"""The clock where calls cannot be seen while they are made: events of a trace on the host, of the function that matters most."""

from __future__ import annotations

from .clock import period
from .trace.steps import host_calls
from .trace.trace_file import read_trace
from .watched import Process

__all__ = ["with_host_clock"]


def with_host_clock(process: Process, function: str | None = None) -> Process:
    """The process with the period of ``function``, or of the function with the most calls, each weighed by how much there was to compile.

    As it is, where it has a period already or no trace was recorded for its clock. A trace that cannot be read leaves it without one.
    """
    if process.period is not None or process.host_trace is None:
        return process
    try:
        calls = host_calls(read_trace(process.host_trace))
    except (OSError, ValueError):
        return process
    names = [name for name in calls if function in (None, name)]
    chosen = max(names, key=lambda name: len(calls[name]) * (process.work.get(name, 0.0) + 1e-6), default="")
    stamps = [event.start_ns / 1e9 for event in calls.get(chosen, ())]
    return process._replace(function=chosen, period=period(stamps), steps=len(stamps))
