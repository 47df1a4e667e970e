"""The same intent for another jaxlib: flags renamed, dropped or restated, also where a name stays and its meaning moved."""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge.flag_spec import FlagSpec
from ..knowledge.translations import changed_meaning
from ..model import Decision
from .respell import respelled
from .target import Target
from .wish import InheritedFlag
from .xla_flags import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    Restated = tuple[tuple[tuple[str, str], ...], str]
    """The flags (name, value) that say it there, and why."""


__all__ = ["restated"]


def restated(flags: tuple[InheritedFlag, ...], target: Target) -> Iterator[InheritedFlag | Decision]:
    """Each flag as it has to be written so that it means there what it meant before.

    Flags that the target does not have, or whose value it refuses, are left to the plan, which translates them.
    """
    for flag in flags:
        spec = target.flag(flag.name)
        found = None if spec is None or flag.value is None else _said_anew(flag, flag.value, spec, target)
        if found is None:
            yield flag
            continue
        became, why = found
        text = " ".join(quote(name, value) for name, value in became)
        yield Decision("xla_flag", flag.name, text or None, "translated", f"{target.label}: {why}", "XLA_FLAGS")
        yield from (flag._replace(name=name, value=value, text=quote(name, value)) for name, value in became)


def _said_anew(flag: InheritedFlag, value: str, spec: FlagSpec, target: Target) -> Restated | None:
    moved = changed_meaning("xla_flag", flag.name, value, target.releases[0])
    if moved is not None:
        return tuple((name, said) for kind, name, said in moved.settings if kind == "xla_flag"), moved.intent
    found = respelled(spec, value, target)
    return None if found is None else (tuple((name, said) for _, name, said in found.settings), found.intent)
