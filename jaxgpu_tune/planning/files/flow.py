"""The order in which a file sets a variable, and which of its texts take the place of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...values import Value
from .mapped import HOLE, tokens_of

__all__ = ["FlowEvent", "replaced_in"]

_KEEPS = re.compile(rf"(?<![=/_,.-]){HOLE}")
"""A part that is not known, and may be what was there: it is not inside of the value of a flag."""


class FlowEvent(Value):
    """What happens at a place of a file. ``text``: what the variable is set to; ``keeps``: behind what was there.

    "reads": a program may see the variable. "unless": it is set only where it is not. "opens", "or", "closes": the ways of a choice; "apart": a function, which runs at another time.
    """

    at: int
    kind: str
    text: str = ""
    keeps: bool = False

    @property
    def replaces(self) -> bool:
        """Whether nothing stays of what was there."""
        return not (self.keeps or _KEEPS.search(self.text))

    @property
    def flags(self) -> dict[str, str]:
        """Each as it is written, by its name."""
        words = (token.text for token in tokens_of(self.text))
        return {word.partition("=")[0]: word.replace(HOLE, "…") for word in words if word.startswith("-")}


class _Choice(Value):
    """What was set before it, and at the end of its ways so far; of an ``apart`` one nothing stays. ``seen``: all that was set before it and those around it."""

    apart: bool
    before: tuple[FlowEvent, ...]
    ways: tuple[FlowEvent, ...] = ()
    seen: bool = False


def replaced_in(events: Iterable[FlowEvent]) -> Iterator[tuple[FlowEvent, FlowEvent, str]]:
    """(what replaces, what it replaces, the flags that are lost so).

    A way of a choice may replace what was set before it. An empty text is meant to.
    """
    held: tuple[FlowEvent, ...] = ()
    around: list[_Choice] = []
    for event in events:
        if event.kind == "sets":
            if event.replaces:
                yield from _lost(event, held)
                held = ()
            held = (*held, event)
        elif event.kind in ("opens", "apart"):
            around.append(_Choice(event.kind == "apart", held))
            held = ()
        elif event.kind == "or" and around:
            around[-1] = around[-1]._replace(ways=(*around[-1].ways, *held))
            held = ()
        elif event.kind == "closes" and around:
            choice = around.pop()
            held = choice.before if choice.apart else (*choice.before, *choice.ways, *held)
        else:
            held = ()
            _see(around)


def _see(around: list[_Choice]) -> None:
    """What was set before the choices that the place is in is seen there."""
    for at in reversed(range(len(around))):
        if around[at].apart or around[at].seen:
            return
        around[at] = around[at]._replace(before=(), seen=True)


def _lost(event: FlowEvent, held: Iterable[FlowEvent]) -> Iterator[tuple[FlowEvent, FlowEvent, str]]:
    for one in held if event.flags else ():
        gone = " ".join(text for name, text in one.flags.items() if name not in event.flags)
        if gone:
            yield event, one, gone
