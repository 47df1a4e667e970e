"""What this library remembers of its calls, as values: what each call asked for, and what was there before the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .values import EMPTY, Value

__all__ = ["FlagsText", "Layer", "State", "Texts"]

Texts = tuple[str | None, str | None]


class Layer(Value):
    """What one call asked for, and goes on asking for: ``arguments`` as they were given, the preset among them.

    ``number``: later calls have higher ones. ``who``: "jaxgpu-tune run", "configure()", "configure() in some.module".
    """

    number: int
    who: str
    arguments: Mapping[str, Any] = EMPTY


class FlagsText(Value):
    """What became of XLA_FLAGS. ``was``: the user's text, to the letter; ``read``: its flags as they were understood.

    ``parts``: what was written, in order: the number of one of ``read``, or the text of a flag of ours; None: it was left alone.
    """

    was: str | None
    read: tuple[str, ...] = ()
    parts: tuple[int | str, ...] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Each flag that stands there."""
        if self.parts is None:
            return self.read
        return tuple(part if isinstance(part, str) else self.read[part] for part in self.parts)

    @property
    def ours(self) -> str | None:
        """XLA_FLAGS exactly as it was left; None: removed."""
        return self.was if self.parts is None else " ".join(self.texts) or None


class State(Value):
    """All that is remembered. ``variables``: (what it was, what we made it) of each but XLA_FLAGS.

    ``edits``: what others changed after a call, a flag with its dashes: the number of the last call before that.
    ``pinned``: nothing may be changed here any more.
    """

    layers: tuple[Layer, ...] = ()
    variables: Mapping[str, Texts] = EMPTY
    flags: FlagsText | None = None
    edits: Mapping[str, int] = EMPTY
    pinned: bool = False
