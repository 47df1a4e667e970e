"""A profile of one function in this very process, as in a notebook."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median, pstdev
from typing import Any

from ..errors import BadSetting, JaxGpuTuneError
from ..model import Finding
from ..wording import is_above_zero
from .assembly import profile_of
from .checks import STEP, check_arguments
from .observer.facts import device_facts
from .observer.tracing import idle, profile_options
from .profile import HostTimes, Profile, Watched
from .timeline import timeline_of
from .trace.reduction import reduce_trace
from .trace.trace_file import read_trace, trace_files

__all__ = ["Caller", "copied", "profile"]

BLOCKS = 10
WARM = 3
BLOCK_SECONDS = 0.1


def profile(step: Callable[..., Any], *args: Any, traced: int = 6, seconds: float = 2.0) -> Profile:
    """Where a step goes: computing, exposed and hidden communication, copies, idle; by collective and kernel, with advice.

    Calls the function again and again with copies of ``args`` (so that memory for both is needed): for about ``seconds``
    without the tracer, then ``traced`` times under it. What a call takes over (``donate_argnums``) is replaced by what it gives back of
    the same shape, as in a training loop. For a whole program, unchanged: ``jaxgpu-tune profile -- COMMAND``.

    Args:
        step: Any function that computes with JAX, jitted or not.
        *args: What to call it with.
        traced: Calls under the tracer, at least 3; the whole steps among them are one fewer.
        seconds: Of measurement without the tracer, more than 0.

    Returns:
        The profile; in a notebook it shows itself, ``str()`` is its text, ``to_dict()`` its JSON.

    Raises:
        BadSetting: An argument is wrong, or the function takes over an argument and gives nothing like it back.

    Examples:
        >>> profile = jaxgpu_tune.profile(train_step, state, batch)
        >>> profile.step_ms, profile.parts["exposed_communication"]
    """
    _check(step, traced, seconds)
    caller = Caller(step, args)
    begun = time.perf_counter()
    caller.run(1)
    first = time.perf_counter() - begun
    compiled = caller.compiled()
    caller.run(WARM)
    times = list(_blocks(caller, seconds))
    again, step_s = caller.compiled() - compiled, median(times)
    seen: dict[str, Any] = {
        "step_s": step_s,
        "clock": "blocked",
        "function": caller.name,
        "error": _error(times, step_s),
    }
    host = HostTimes(first_step_s=first, compiled=compiled, compile_s=max(0.0, first - step_s), recompiled=again)
    return profile_of([Watched(**seen, host=host, **_here(), **_traced(caller, traced))])


def _check(step: Any, traced: Any, seconds: Any) -> None:
    """Raises BadSetting with all that is wrong."""
    check_arguments(
        ("step", step, callable(step), STEP),
        ("traced", traced, isinstance(traced, int) and traced >= 3, "whole numbers of at least 3"),
        ("seconds", seconds, is_above_zero(seconds), "numbers above 0"),
    )


class Caller:
    """Calls a function again and again with arguments of its own; what a call takes over is replaced by what it gave back."""

    def __init__(self, step: Callable[..., Any], args: Sequence[Any]) -> None:
        self.step = step
        self.name = getattr(step, "__name__", type(step).__name__)
        self.args = copied(list(args))

    def run(self, calls: int) -> float:
        """Seconds a call, of so many that are waited for once, at the end."""
        import jax

        begun = time.perf_counter()
        result: Any = None
        for _ in range(calls):
            result = self.step(*self.args)
            self._carry(result)
        jax.block_until_ready(result)  # type: ignore[no-untyped-call]
        return (time.perf_counter() - begun) / calls

    def compiled(self) -> int:
        """How many programs the function has been compiled to; 0 where it does not tell."""
        size = getattr(self.step, "_cache_size", None)
        return int(size()) if callable(size) else 0

    def _carry(self, result: Any) -> None:
        """Put what was given back in the place of what was taken over."""
        taken = [number for number, one in enumerate(self.args) if _is_taken(one)]
        if not taken:
            return
        given = list(_members(result))
        for number in taken:
            shape = _shape(self.args[number])
            place = next((place for place, one in enumerate(given) if _shape(one) == shape), None)
            if place is None:
                raise BadSetting.of([_lost(self.name, number)])
            self.args[number] = given.pop(place)


def _lost(name: str, number: int) -> Finding:
    message = f"{name} takes over the memory of argument {number} (donate_argnums) and gives nothing of its structure and shapes back, so it cannot be called again."
    return Finding(
        "donated", "error", message, "Profile a function that returns the new state, or one without donation."
    )


def _is_taken(tree: Any) -> bool:
    import jax

    return any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in jax.tree.leaves(tree))


def _members(result: Any) -> Iterable[Any]:
    """What may stand for an argument: the result itself, and each of its parts where it has some."""
    yield result
    if isinstance(result, (tuple, list)):
        yield from result
    elif isinstance(result, dict):
        yield from result.values()


def _shape(tree: Any) -> Any:
    """Its structure, and the shape and type of each array."""
    import jax

    leaves, structure = jax.tree.flatten(tree)
    return structure, [(getattr(leaf, "shape", None), getattr(leaf, "dtype", None)) for leaf in leaves]


def copied(tree: Any) -> Any:
    """With arrays of its own."""
    import jax

    return jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, tree)


def _blocks(caller: Caller, seconds: float) -> Iterable[float]:
    """Seconds a call in each of ten blocks, which together take about ``seconds``."""
    once = max(caller.run(WARM), 1e-7)
    calls = max(1, round(max(seconds, BLOCK_SECONDS) / BLOCKS / once))
    return (caller.run(calls) for _ in range(BLOCKS))


def _error(times: Sequence[float], middle: float) -> float:
    """The standard error of the mean, as a share."""
    return float(pstdev(times) / len(times) ** 0.5 / middle) if middle else 0.0


def _here() -> dict[str, Any]:
    import jax

    device = device_facts()[0]
    return {
        "device": device["kind"],
        "jax": jax.__version__,
        "peak_bytes": device["peak_bytes"],
        "limit_bytes": device["limit_bytes"],
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _traced(caller: Caller, calls: int) -> dict[str, Any]:
    """The reduction of a trace of so many calls, or why there is none."""
    import jax

    with tempfile.TemporaryDirectory() as folder:
        try:
            idle()
            jax.profiler.start_trace(folder, **_options())
        except (RuntimeError, ValueError) as error:  # another session is active
            return {"why_not_traced": str(error).split("\n")[0].rstrip(".")}
        try:
            caller.run(calls)
        finally:
            idle()
            jax.profiler.stop_trace()
        files = trace_files(folder)
        if not files:
            raise JaxGpuTuneError("jax.profiler left no trace.")
        trace = read_trace(files[-1])
    reduction = reduce_trace(trace)
    return {"reduction": reduction, "timeline": timeline_of(trace, reduction)}


def _options() -> dict[str, Any]:
    """Without Python's own calls, which would be most of the trace; older releases take no options."""
    import jax

    return {"profiler_options": profile_options(jax.profiler)} if hasattr(jax.profiler, "ProfileOptions") else {}
