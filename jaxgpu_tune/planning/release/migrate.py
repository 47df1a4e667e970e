"""The same intent for another jaxlib: flags renamed, dropped or restated, also where a name stays and its meaning moved."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.translations import changed_meaning
from ...model import Decision
from ..base.wish import InheritedFlag
from ..xla_flags.grammar import quote
from .target import Target

__all__ = ["restated"]


def restated(flags: tuple[InheritedFlag, ...], target: Target) -> Iterator[InheritedFlag | Decision]:
    """Each flag as it has to be written so that it means there what it meant before.

    Flags that the target does not have, or whose value it refuses, are left to the plan, which translates them.
    """
    for flag in flags:
        moved = None
        if flag.value is not None and target.flag(flag.name) is not None:
            moved = changed_meaning("xla_flag", flag.name, flag.value, target.releases[0])
        if moved is None:
            yield flag
            continue
        became = tuple((name, value) for kind, name, value in moved.settings if kind == "xla_flag")
        text = " ".join(quote(name, value) for name, value in became)
        yield Decision(
            "xla_flag", flag.name, text or None, "translated", f"{target.label}: {moved.intent}", "XLA_FLAGS"
        )
        yield from (flag._replace(name=name, value=value, text=quote(name, value)) for name, value in became)
