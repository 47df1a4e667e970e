"""How far JAX has started and what job it has joined, told from sys.modules alone: nothing is imported, no lock is taken."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ..machine import Phase
from ..values import EMPTY, Value

__all__ = [
    "MISSING",
    "Joined",
    "joined_job",
    "live_config",
    "live_options",
    "live_values",
    "option_as_text",
    "option_value",
    "phase",
    "process_value",
    "users_of_jax",
]

BRIDGE, DISTRIBUTED = "jax._src.xla_bridge", "jax._src.distributed"
OWN = frozenset({"jax", "jaxlib", "jax_plugins", "jaxgpu_tune", "__main__", "__mp_main__"})
MISSING = object()


class Joined(Value):
    """This process's ``rank`` of ``count``; ``client`` is jaxlib's, connected to the job's coordinator."""

    rank: int
    count: int
    client: Any


def phase() -> Phase:
    """Whether jax is imported, and whether a backend is up.

    ``xla_bridge._backends`` is there in every jax from 0.4.16 on; ``backends_are_initialized()`` would take a lock that
    another thread may hold for as long as it starts a backend.
    """
    bridge = sys.modules.get(BRIDGE)
    if getattr(bridge, "_backends", None) or _is_held(getattr(bridge, "_backend_lock", None)):
        return "started"
    return "imported" if "jax" in sys.modules else "not-imported"


def _is_held(lock: Any) -> bool:
    """Held: another thread is starting a backend just now. An RLock can say so from Python 3.14 on."""
    return hasattr(lock, "locked") and bool(lock.locked())


def joined_job() -> Joined | None:
    """The job; None before ``initialize()`` and after ``shutdown()`` (which jax tells in public only from 0.5.1 on)."""
    state: Any = getattr(sys.modules.get(DISTRIBUTED), "global_state", None)
    if state is None or state.client is None:
        return None
    return Joined(state.process_id, state.num_processes, state.client)


def live_config(jax: str | None, former: Mapping[str, Any] = EMPTY) -> dict[str, Any] | None:
    """The options of a live jax that differ from jax's own defaults; None: jax is not imported.

    ``former``: what options were that this library has set since.
    """
    values = live_values()
    if values is None:
        return None
    values |= former
    from ..knowledge.options import option

    specs = {name: option(name, jax) for name in values} if jax else {}
    return {
        name: values[name]
        for name, spec in specs.items()
        if spec is not None and _is_changed(values[name], spec.default)
    }


def live_options() -> Any:
    """jax.config; None where jax is not imported."""
    return getattr(sys.modules.get("jax"), "config", None)


def live_values() -> dict[str, Any] | None:
    """Each option of jax.config with the process's value, plain; None where jax is not imported."""
    config = live_options()
    return None if config is None else {name: process_value(config, name) for name in dict(config.values)}


def process_value(config: Any, name: str) -> Any:
    """An option as every thread has it that is in no context manager of its own: what ``update()`` has set. No public name tells it."""
    holder: Any = getattr(config, "_value_holders", {}).get(name)
    if hasattr(holder, "get_global"):
        return option_as_text(holder.get_global())
    value = getattr(holder, "_value", MISSING)  # before 0.5
    return option_value(config, name) if value is MISSING else option_as_text(value)


def option_value(config: Any, name: str) -> Any:
    """An option of a live jax.config in this thread, plain; MISSING: it has none of that name. Only some are attributes of it."""
    found = getattr(config, name, MISSING)
    return option_as_text(getattr(config, "values", {}).get(name, MISSING) if found is MISSING else found)


def option_as_text(value: Any) -> Any:
    """A live option as its text: jax holds some as members of enums, whose values or names are the words that it takes."""
    if not hasattr(value, "_value_"):
        return value
    return value.value if isinstance(value.value, str) else value.name.lower()


def _is_changed(value: Any, default: Any) -> bool:
    """Whether a plain value is not the default; an empty text is none."""
    return type(value) in (bool, int, float, str) and value != default and not (value == "" and default is None)


def users_of_jax() -> tuple[str, ...]:
    """The packages loaded here that hold jax at the top of a module: one of them may have made an array when imported."""
    held = [sys.modules[name] for name in ("jax", "jax.numpy") if name in sys.modules]
    found: set[str] = set()
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        names = getattr(module, "__dict__", None)
        if package not in OWN | found and names and any(value is one for value in list(names.values()) for one in held):
            found.add(package)
    return tuple(sorted(found))
