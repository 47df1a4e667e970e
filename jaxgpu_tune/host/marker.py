"""The marker variable: what this library set, and what was there before, in this process or in a parent.

With it a second call before the backend starts replaces the first, a child process plans anew, and
``restore()`` gives back what was there. Pure functions over an environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..planning.xla_flags.grammar import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["MARKER", "before_us", "marked", "touched"]

MARKER = "JAXGPU_TUNE_STATE"
FLAGS = "XLA_FLAGS"


def touched(environ: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Each variable that we changed: (what it was, what we made it); empty if the marker is absent or damaged."""
    try:
        state: Any = json.loads(environ.get(MARKER, "{}"))
        pairs = {str(name): (was, ours) for name, (was, ours) in state.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    sound = all(isinstance(text, (str, type(None))) for pair in pairs.values() for text in pair)
    return pairs if sound and not any("=" in name or not name for name in pairs) else {}


def before_us(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with what we set taken back out; what was changed after us stays."""
    found = {name: value for name, value in environ.items() if name != MARKER}
    for name, (was, ours) in touched(environ).items():
        now = environ.get(name)
        if now == ours:
            _put(found, name, was)
        elif name == FLAGS and ours and now:
            _put(found, name, _without_ours(was or "", ours, now))
    return found


def _without_ours(was: str, ours: str, now: str) -> str | None:
    """XLA_FLAGS that was changed after us: what we added is taken out flag by flag, the rest is the user's."""
    mine = [token.text for token in scan(ours).tokens]
    theirs = [token.text for token in scan(was).tokens]
    there = [token.text for token in scan(now).tokens]
    if not set(mine) <= set(there):
        return now
    left = [text for text in there if text not in mine]
    return " ".join([*theirs, *left]) or None


def marked(before: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment with ``changes`` made, and the marker that tells of them."""
    found = dict(before)
    for name, value in changes.items():
        _put(found, name, value)
    state = {name: (before.get(name), value) for name, value in sorted(changes.items()) if before.get(name) != value}
    if state:
        found[MARKER] = json.dumps(state, separators=(",", ":"))
    return found


def _put(environ: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        environ.pop(name, None)
    else:
        environ[name] = value
