"""What the observer wrote of each process of a run, read back as values."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..values import EMPTY, Value
from .clock import Period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal


__all__ = ["Compilation", "Process", "leading", "measured", "read_processes"]

DONE = "done"


class Compilation(Value):
    """One compilation: its function, when it ended (seconds since the start of its process), how long it took; ``cached``: read from the cache."""

    name: str
    at_s: float
    seconds: float
    cached: bool


class Process(Value):
    """One Python process of the program, as its observer saw it. Times in seconds, memory in bytes; None: not known.

    ``state``: "no jax" (jax was not imported), "waiting" (for a steady state), "measuring", "measured", "done" (measured,
    and traced if that was asked), "ended" (the program ended before a steady state was measured).
    ``clock``: "marks" (the program's own ``jaxgpu_tune.step()``), "calls" (of ``function``), "trace" (events on the host, under the tracer: before Python 3.12), or "" where there was nothing to go by.
    ``window_s``: from when to when ``period`` was measured; ``steps``: marks, or calls of the function called most; ``calls``: of ``function``; ``jax_s``: when jax was imported; ``first_step_s``: from the start of the process to the end of its first step;
    ``devices``: dicts with ``id kind platform peak_bytes limit_bytes``; ``trace``: the path of its device trace (an XSpace);
    ``host_trace``: the trace that its clock is read from; ``work``: seconds of compiling by function; ``why_not_traced``: why there is none; ``program``: a fingerprint of what it calls, compiled, and ``kinds``: of program, where that was asked; ``settings``: the variables of JAX, XLA, NCCL and CUDA as it had them when they were read; ``error``: the Python exception that ended it; ``troubles``: what went wrong in the observer; ``folder``: where it wrote.
    """

    pid: int
    folder: str
    state: str = "no jax"
    argv: tuple[str, ...] = ()
    jax: str | None = None
    rank: int | None = None
    processes: int | None = None
    clock: Literal["marks", "calls", "trace", ""] = ""
    function: str = ""
    period: Period | None = None
    window_s: tuple[float, ...] = ()
    steps: int = 0
    calls: int = 0
    jax_s: float | None = None
    first_step_s: float | None = None
    compilations: tuple[Compilation, ...] = ()
    devices: tuple[dict[str, Any], ...] = ()
    trace: str | None = None
    why_not_traced: str = ""
    host_trace: str | None = None
    work: Mapping[str, float] = EMPTY
    pgle: bool = False
    settings: Mapping[str, str] = EMPTY
    program: str = ""
    kinds: tuple[str, ...] = ()
    error: str | None = None
    troubles: str = ""
    ended: bool = False
    seconds: float = 0.0

    @property
    def compiled(self) -> tuple[Compilation, ...]:
        """Real compilations: those that the cache had are left out."""
        return tuple(one for one in self.compilations if not one.cached)

    @property
    def compile_seconds(self) -> float:
        """Of the real compilations together."""
        return sum(one.seconds for one in self.compiled)

    @property
    def recompiled(self) -> tuple[Compilation, ...]:
        """Compilations of the step's own function after its first, which cost a step each."""
        return tuple(one for one in self.compiled if one.name == self.function)[1:]

    @property
    def peak_bytes(self) -> int | None:
        """The largest peak memory of its devices."""
        return max((int(one["peak_bytes"]) for one in self.devices if one.get("peak_bytes")), default=None)


def read_processes(folder: str | os.PathLike[str]) -> tuple[Process, ...]:
    """The processes that wrote into ``folder`` so far, in order of rank; a report that cannot be read is left out."""
    reports = ((path.parent, _json(path)) for path in sorted(Path(folder).glob("process-*/report.json")))
    found = (_process(str(place), told) for place, told in reports if told)
    return tuple(sorted(found, key=lambda one: (one.rank is None, one.rank or 0, one.pid)))


def measured(folder: str | os.PathLike[str]) -> set[int]:
    """The ids of the processes that have told all that was asked."""
    return {one.pid for one in read_processes(folder) if one.state == DONE}


def leading(processes: Iterable[Process]) -> tuple[Process, ...]:
    """The processes whose word counts: rank 0 where ranks are known, else all that ran steps."""
    running = [one for one in processes if one.clock or one.steps]
    return tuple([one for one in running if one.rank == 0] or running)


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _troubles(folder: str) -> str:
    try:
        return (Path(folder) / "observer.log").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _process(folder: str, told: dict[str, Any]) -> Process:
    trace, period = told.pop("trace", {}), told.pop("period", None)
    plain = {name: told[name] for name in Process._fields if name in told and told[name] is not None}
    for name in ("argv", "devices", "kinds", "window_s"):
        plain[name] = tuple(told.get(name) or ())
    return Process(
        **{
            **plain,
            "folder": folder,
            "calls": next(
                (one["calls"] for one in told.get("functions") or () if one["name"] == told.get("function")), 0
            ),
            "troubles": _troubles(folder),
            "compilations": tuple(Compilation(*one) for one in told.get("compiles") or ()),
            "period": None if period is None else Period(**{**period, "values": tuple(period["values"])}),
            "trace": trace.get("path"),
            "why_not_traced": trace.get("why_not", ""),
            "seconds": told.get("now_s", 0.0),
        }
    )
