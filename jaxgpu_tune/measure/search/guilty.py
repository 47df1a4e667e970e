"""The smallest set of parts that shows a fault: by halves while one half alone shows it, then by leaving out one at a time.

One guilty part of n takes about 2 log n runs, several take about n more; every answer is kept, so nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Guilty", "guilty"]

Part = TypeVar("Part")
Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Guilty(Generic[Part]):
    """How far the answers lead.

    ``ask``: the parts to try next, None where nothing is left to ask. ``sets``: those found guilty so far. Each is minimal: with any
    of its parts left out, the fault does not show. ``problem``: why there is nothing to find.
    """

    ask: tuple[Part, ...] | None
    sets: tuple[tuple[Part, ...], ...] = ()
    problem: str = ""


class _NeededError(Exception):
    """An answer that is not there yet."""

    def __init__(self, parts: tuple[object, ...]) -> None:
        super().__init__()
        self.parts = parts


def guilty(parts: Sequence[Part], answers: Mapping[frozenset[Part], bool]) -> Guilty[Part]:
    """What the ``answers`` (whether these parts together show the fault) say of ``parts``, or what to ask next.

    When a set is found, the rest is asked: if it still shows the fault, there is another set.
    """
    found: list[tuple[Part, ...]] = []

    def shows(some: tuple[Part, ...]) -> bool:
        if frozenset(some) not in answers:
            raise _NeededError(some)
        return answers[frozenset(some)]

    try:
        problem = _problem(tuple(parts), shows)
        rest = tuple(parts)
        while not problem and rest and shows(rest):
            found.append(_minimal(rest, shows))
            rest = tuple(part for part in rest if part not in found[-1])
    except _NeededError as needed:
        return Guilty(tuple(part for part in parts if part in needed.parts), tuple(found))
    return Guilty(None, tuple(found), problem)


def _problem(parts: Parts[Part], shows: Callable[[Parts[Part]], bool]) -> str:
    if shows(()):
        return "it shows without any of the suspects, too, so they are not the cause"
    return "" if shows(parts) else "all suspects together do not show it"


def _minimal(parts: Parts[Part], shows: Callable[[Parts[Part]], bool]) -> Parts[Part]:
    """A part of ``parts``, which show the fault, of which nothing can be left out."""
    while len(parts) > 1:
        middle = len(parts) // 2
        half = next((half for half in (parts[:middle], parts[middle:]) if shows(half)), None)
        if half is None:
            return _one_by_one(parts, shows)
        parts = half
    return parts


def _one_by_one(parts: Parts[Part], shows: Callable[[Parts[Part]], bool]) -> Parts[Part]:
    """Without each part that is not needed."""
    for part in parts:
        fewer = tuple(one for one in parts if one != part)
        if fewer and shows(fewer):
            parts = fewer
    return parts
