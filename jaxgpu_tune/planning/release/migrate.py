"""The same intent for another jaxlib: flags renamed, dropped or restated, also where a name stays and its meaning moved."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.translations import changed_meaning
from ...model import Decision, Finding
from ..base.wish import InheritedFlag
from ..xla_flags.grammar import quote
from .respell import respelled
from .target import Target

__all__ = ["restated"]


def restated(flags: tuple[InheritedFlag, ...], target: Target) -> Iterator[InheritedFlag | Decision | Finding]:
    """Each flag as it has to be written so that it means there what it meant before.

    Flags that the target does not have, or whose value it refuses, are left to the plan, which translates them.
    """
    for flag in flags:
        moved = None
        spec = target.flag(flag.name)
        if flag.value is not None and spec is not None:
            moved = changed_meaning("xla_flag", flag.name, flag.value, target.releases[0])
            split = respelled(spec, flag.value, target) if moved is None and spec.first_only else None
            if split is not None:
                yield _half_read(flag, target)
            moved = moved or split
        if moved is None:
            yield flag
            continue
        became = tuple((name, value) for kind, name, value in moved.settings if kind == "xla_flag")
        text = " ".join(quote(name, value) for name, value in became)
        yield Decision(
            "xla_flag", flag.name, text or None, "translated", f"{target.label}: {moved.intent}", "XLA_FLAGS"
        )
        yield from (flag._replace(name=name, value=value, text=quote(name, value)) for name, value in became)


def _half_read(flag: InheritedFlag, target: Target) -> Finding:
    message = f"{target.label} would read only a part of {flag.text}: of several changes to a list it applies only the first, so each is said by itself."
    return Finding("flag-half-read", "warning", message, "Write each by itself from now on.")
