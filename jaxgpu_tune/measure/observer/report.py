"""All that a watch has seen so far, JSON-ready; times in seconds since the start of the process."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

from . import facts, heard_marks

if TYPE_CHECKING:
    from .watch import Watch

__all__ = ["report_of"]

MOST_FUNCTIONS, MOST_NAMES = 8, 50


def report_of(watch: Watch) -> dict[str, Any]:
    """What ``report.json`` holds."""
    jax, calls, compiles = sys.modules.get("jax"), watch.calls, watch.compiles
    return {
        **watch.words,
        **facts.place(),
        "state": watch.state,
        "jax": getattr(jax, "__version__", None),
        "clock": watch.clock,
        "function": watch.function,
        "period": None if watch.found is None else watch.found._asdict(),
        "window_s": watch.window,
        "functions": [
            {"name": key[0], "calls": calls.counts.get(key, 0), "work_s": compiles.work.get(key[0], 0.0)}
            for key in sorted(calls.stamps, key=watch.weight, reverse=True)[:MOST_FUNCTIONS]
        ],
        "program": watch.compiled.fingerprint,
        "kinds": watch.compiled.kinds,
        "jax_s": watch.imported,
        "first_step_s": _first_step(watch),
        "steps": heard_marks.total() or max(calls.counts.values(), default=0),
        "compiles": [[one.name, one.at - watch.started, one.seconds, one.cached] for one in compiles.all],
        "devices": facts.device_facts(),
        "pgle": facts.pgle(),
        "settings": watch.settings,
        "trace": watch.trace,
        "host_trace": watch.host_trace,
        "work": dict(sorted(compiles.work.items(), key=lambda one: -one[1])[:MOST_NAMES]),
        "now_s": perf_counter() - watch.started,
    }


def _first_step(watch: Watch) -> float | None:
    first = heard_marks.stamps[0] if heard_marks.stamps else watch.first_step
    return None if first is None else first - watch.started
