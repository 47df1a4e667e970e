"""The marker variable: what this library's calls asked for and set, and what was there before, here or in a parent.

With it a later call adds to the earlier ones, a child process goes on from its parent, and ``restore()`` gives back what
was there. Pure functions over an environment.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any

from ..model import Finding
from ..planning.xla_flags.grammar import FLAGS, scan
from ..state import FlagsText, Layer, State, Texts
from ..values import EMPTY, Value

__all__ = [
    "MARKER",
    "Followed",
    "before_us",
    "follow",
    "is_pinned",
    "marked_environ",
    "pinned",
    "read_state",
    "state_text",
    "touched",
]

MARKER = "JAXGPU_TUNE_STATE"
VERSION = 2
DAMAGED = Finding(
    "damaged-state",
    "warning",
    f"{MARKER} cannot be read, so what earlier calls set counts as set by you.",
    f"Leave {MARKER} as it is, or unset it together with what was set.",
)


class Followed(Value):
    """``environ``: the user's, what this library set taken out; ``state``: with what the user changed since."""

    environ: Mapping[str, str]
    state: State = State()
    findings: tuple[Finding, ...] = ()


def read_state(environ: Mapping[str, str]) -> State | None:
    """What the marker tells; None if it is damaged."""
    text = environ.get(MARKER)
    if not text:
        return State()
    try:
        return _state(json.loads(text))
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return None


def touched(environ: Mapping[str, str]) -> dict[str, Texts]:
    """Each variable that we changed: (what it was, what we made it); empty if the marker is absent or damaged."""
    state = read_state(environ) or State()
    flags = {FLAGS: (state.flags.was, state.flags.ours)} if state.flags else {}
    return {name: pair for name, pair in {**state.variables, **flags}.items() if pair[0] != pair[1]}


def follow(environ: Mapping[str, str], unread: Container[str] = ()) -> Followed:
    """The user's environment: what we set is taken out where it still stands, and what was changed since is the user's.

    ``unread``: the variables whose change changes nothing here.
    """
    found = {name: value for name, value in environ.items() if name != MARKER}
    state = read_state(environ)
    if state is None:
        return Followed(found, findings=(DAMAGED,))
    last = max((layer.number for layer in state.layers), default=0)
    edits = dict(state.edits)
    for name, (was, ours) in state.variables.items():
        if environ.get(name) == ours:
            _put(found, name, was)
        elif name not in unread:
            edits[name] = last
    if state.flags is not None:
        now = environ.get(FLAGS, "")
        if now == (state.flags.ours or ""):
            _put(found, FLAGS, state.flags.was)
        else:
            from ..planning.xla_flags.edited import edited

            text, names = edited(state.flags, now)
            _put(found, FLAGS, text or None)
            edits |= dict.fromkeys(names, last)
    return Followed(found, state._replace(edits=edits))


def before_us(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with what we set taken back out; what was changed after us stays."""
    return follow(environ).environ


def marked_environ(
    before: Mapping[str, str],
    changes: Mapping[str, str | None],
    state: State,
    read: Iterable[str] = (),
    asked: Iterable[str] = (),
    unread: Mapping[str, Texts] = EMPTY,
) -> dict[str, str]:
    """The user's environment with ``changes`` made, and the marker that tells of them.

    ``read``: the flags of the user's XLA_FLAGS as they were understood. ``asked``: the variables that calls ask for,
    which are watched whether or not they had to be changed. ``unread``: those that stay as the user changed them, and may be read by a child.
    """
    found = dict(before)
    for name, value in changes.items():
        _put(found, name, value)
    watched = sorted({*changes, *asked} - {FLAGS})
    variables = {**{name: (before.get(name), found.get(name)) for name in watched}, **unread}
    flags = _composed(before.get(FLAGS), found.get(FLAGS), tuple(read))
    state = state._replace(variables=variables, flags=flags if FLAGS in {*changes, *asked} else None)
    changed = any(before.get(name) != found.get(name) for name in changes)
    if changed or state.pinned or any(layer.arguments for layer in state.layers):
        found[MARKER] = state_text(state)
    return found


def _composed(was: str | None, now: str | None, read: tuple[str, ...]) -> FlagsText:
    """What was written, as the user's flags and ours."""
    if was == now:
        return FlagsText(was, read)
    left = list(range(len(read)))
    parts: list[int | str] = []
    for token in scan(now or "").tokens:
        mine = next((number for number in left if read[number] == token.text), None)
        parts.append(token.text if mine is None else mine)
        left = [number for number in left if number != mine]
    return FlagsText(was, read, tuple(parts))


def is_pinned(environ: Mapping[str, str]) -> bool:
    """Whether nothing may be changed in a process of this environment."""
    return (read_state(environ) or State()).pinned


def pinned(environ: Mapping[str, str]) -> dict[str, str]:
    """The same environment for a process in which a ``configure()`` reports but changes nothing."""
    state = read_state(environ) or State()
    return {**environ, MARKER: state_text(state._replace(pinned=True))}


def state_text(state: State) -> str:
    """The marker's value: compact JSON; what is empty is left out."""
    flags = state.flags
    found: dict[str, Any] = {
        "v": VERSION,
        "calls": [[layer.number, layer.who, dict(layer.arguments)] for layer in state.layers],
        "set": {name: list(pair) for name, pair in state.variables.items()},
        "flags": flags and [flags.was, 0 if _is_plain(flags) else list(flags.read), flags.parts],
        "edits": dict(state.edits),
        "pin": int(state.pinned),
    }
    return json.dumps({name: value for name, value in found.items() if value}, separators=(",", ":"), default=str)


def _is_plain(flags: FlagsText) -> bool:
    """Whether XLA's own reading of the user's text gives the same flags."""
    return flags.read == _scanned(flags.was)


def _scanned(text: str | None) -> tuple[str, ...]:
    return tuple(token.text for token in scan(text or "").tokens)


def _state(found: Any) -> State:
    """The state that a marker's JSON tells. Raises ValueError and its like for what this library did not write."""
    layers = tuple(Layer(number, who, dict(arguments)) for number, who, arguments in found.get("calls", []))
    variables = {name: (was, ours) for name, (was, ours) in found.get("set", {}).items()}
    edits = dict(found.get("edits", {}))
    texts = [text for pair in variables.values() for text in pair if text is not None]
    numbers = [*(layer.number for layer in layers), *edits.values()]
    strange = any("=" in name or "\0" in name or not name for name in variables) or found["v"] != VERSION
    if strange or not _all(texts, str) or not _all(numbers, int) or not _all([layer.who for layer in layers], str):
        raise ValueError("not a state of this library")
    return State(layers, variables, _flags(found.get("flags")), edits, bool(found.get("pin")))


def _flags(found: Any) -> FlagsText | None:
    if not found:
        return None
    was, read, parts = found
    flags = FlagsText(was, tuple(read) if read != 0 else _scanned(was), None if parts is None else tuple(parts))
    if not isinstance(was, (str, type(None))) or not _all(flags.read, str) or not _all(flags.texts, str):
        raise ValueError("not flags of this library")
    return flags


def _all(values: Iterable[object], kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def _put(environ: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        environ.pop(name, None)
    else:
        environ[name] = value
