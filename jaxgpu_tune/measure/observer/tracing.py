"""A trace of a few steps from a second thread, never over another session, and gone before the program's own begins.

A process has one profiler session; a second raises ALREADY_EXISTS in whoever starts it. So while ours runs, whoever makes
a session (``jax.profiler``, AutoPGLE) ends ours first.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

__all__ = ["OPTIONS", "record", "session_of_the_program"]

OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0}


def session_of_the_program() -> bool:
    """Whether the program traces just now by jax.profiler."""
    state = getattr(sys.modules.get("jax._src.profiler"), "_profile_state", None)
    return any(getattr(state, name, None) is not None for name in ("profile_session", "session"))


def record(seconds: float, options: dict[str, Any]) -> tuple[bytes, bool]:
    """The serialized XSpace of that long, and whether the program's own session cut it short. Raises what the profiler raises."""
    module = _profiler()
    make, lock, over = module.ProfilerSession, threading.Lock(), threading.Event()
    content: list[bytes] = []

    def end() -> None:
        with lock:
            if not content:
                content.append(session.stop())
        over.set()

    def make_theirs(*args: Any, **named: Any) -> Any:
        end()
        return make(*args, **named)

    with lock:
        module.ProfilerSession = make_theirs
        try:
            session = make(_options(module, options))
        except BaseException:
            module.ProfilerSession = make
            content.append(b"")
            raise
    try:
        cut = over.wait(seconds)
        end()
    finally:
        module.ProfilerSession = make
    return content[0], cut


def _options(module: Any, wanted: dict[str, Any]) -> Any:
    made = module.ProfileOptions()
    for name, value in {**OPTIONS, **wanted}.items():
        setattr(made, name, value)
    return made


def _profiler() -> Any:
    """jaxlib's own module: ``_profiler`` from 0.6 on, part of xla_client before."""
    lib: Any = sys.modules["jax._src.lib"]
    found = getattr(lib, "_profiler", None)
    return lib.xla_client.profiler if found is None else found
