"""What a search speaks of: settings, what is tried, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from ...wording import written

__all__ = [
    "NOTHING",
    "OVERWRITTEN",
    "SAME",
    "Atom",
    "Config",
    "Move",
    "Purpose",
    "Risk",
    "Start",
    "Step",
    "Trial",
    "is_slow",
    "settings_of",
    "toggled",
]

Purpose = Literal["start", "toggle", "prune", "check"]
Risk = Literal["none", "dies", "out"]
"""Of a set of settings, as far as it is known: none, may hang or crash (so it is tried after all else), must not be tried."""
SAME = "same-program"
"""The failure of a trial that was not run because what it compiles to was measured before."""
OVERWRITTEN = "overwritten"
"""The failure of a trial whose settings the program drops."""


class Atom(NamedTuple):
    """One setting with one value: ``kind`` is "xla_flag", "env" or "jax_config", ``value`` the text that is emitted."""

    kind: str
    name: str
    value: str

    def __str__(self) -> str:
        return written(self.kind, self.name, self.value)


Config = frozenset[Atom]
"""Settings that are in force together."""
NOTHING: Config = frozenset()
"""The program as it is: what it has without settings of ours. A search begins there."""


class Start(NamedTuple):
    """A set of settings that somebody would use without a search, such as a preset's."""

    name: str
    config: Config


class Move(NamedTuple):
    """Settings that are switched on and off together, mostly one.

    ``seen``: whether the compiled program shows it; False for what acts while the program runs, of which equal programs say nothing.
    ``large``: whether it is known to change everything in some programs of this kind, for better or worse.
    ``slow``: whether it is known to compile for very long.
    """

    config: Config
    seen: bool = False
    large: bool = False
    slow: bool = False


class Step(NamedTuple):
    """What to run next, and what for. ``known``: programs that were measured; if it compiles to one of them, it need not run."""

    config: Config
    purpose: Purpose
    known: frozenset[str] = frozenset()


class Trial(NamedTuple):
    """What came of one run.

    ``ms``: milliseconds a step, None where there is none, and ``failure`` says why ("hang", "crash", "wrong-numbers", …);
    ``seconds``: what the run took; ``program``: a fingerprint of what was compiled, where it is known; ``detail``: more to keep.
    """

    config: Config
    purpose: Purpose
    ms: float | None
    failure: str = ""
    seconds: float = 0.0
    program: str = ""
    detail: Mapping[str, Any] = {}

    @property
    def well(self) -> bool:
        """Whether it has a time, and nothing went wrong."""
        return self.ms is not None and not self.failure

    @property
    def spent(self) -> float:
        """Seconds of the budget: runs side by side share what they took together."""
        return float(self.detail.get("spent", self.seconds))


def is_slow(config: Config, moves: Iterable[Move]) -> bool:
    """Whether it holds something that is known to compile for very long."""
    return any(move.slow and move.config <= config for move in moves)


def settings_of(config: Iterable[Atom]) -> frozenset[tuple[str, str]]:
    """Kind and name of each setting."""
    return frozenset((one.kind, one.name) for one in config)


def toggled(config: Config, move: Move) -> Config:
    """The settings without a move's, if all of those are there; else with them, in the place of other values of the same settings."""
    if move.config <= config:
        return config - move.config
    named = settings_of(move.config)
    return frozenset(one for one in config if (one.kind, one.name) not in named) | move.config
