"""How far JAX has started, told from sys.modules alone: nothing is imported, no lock is taken."""

from __future__ import annotations

import sys

from ..model import Phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["live_config", "phase"]

BRIDGE = "jax._src.xla_bridge"


def phase() -> Phase:
    """Whether jax is imported, and whether a backend is up.

    ``xla_bridge._backends`` is there in every jax from 0.4.16 on; ``backends_are_initialized()`` would take a lock that
    another thread may hold for as long as it starts a backend (semantics 3.3).
    """
    bridge = sys.modules.get(BRIDGE)
    if getattr(bridge, "_backends", None) or _is_held(getattr(bridge, "_backend_lock", None)):
        return "started"
    return "imported" if "jax" in sys.modules else "not-imported"


def _is_held(lock: Any) -> bool:
    """Held: another thread is starting a backend just now. An RLock can say so from Python 3.14 on."""
    return hasattr(lock, "locked") and bool(lock.locked())


def live_config(jax: str | None) -> dict[str, Any] | None:
    """The options of a live jax that differ from jax's own defaults; None: jax is not imported."""
    values = _values()
    if values is None:
        return None
    from ..knowledge.options import option

    specs = {name: option(name, jax) for name in values} if jax else {}
    return {
        name: values[name]
        for name, spec in specs.items()
        if spec is not None and _is_changed(values[name], spec.default)
    }


def _values() -> dict[str, Any] | None:
    config = getattr(sys.modules.get("jax"), "config", None)
    return None if config is None else dict(getattr(config, "values", {}))


def _is_changed(value: Any, default: Any) -> bool:
    """Whether a plain value is not the default; an empty text is none, and enum members (x64 modes) are jax's own."""
    return type(value) in (bool, int, float, str) and value != default and not (value == "" and default is None)
