"""Hazards: settings that are known to go wrong, alone or together, on some GPUs or in some releases.

Only their reading and their triggers are here; whether a hazard's conditions hold is for ``planning/base/conditions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..model import SettingKind, Severity
from ..values import EMPTY, Value
from ..wording import number_of
from .alike import alike, speaking_for, values_told
from .tables import named_setting, one_or_more, read_table
from .translations import member_rules

__all__ = ["Hazard", "InForce", "Trigger", "hazards"]

InForce = Mapping[tuple[SettingKind, str], Any]
"""The settings in force: (kind, name) -> value, XLA's text for flags, the typed value for options."""


class Trigger(Value):
    """One setting that a hazard needs: any of ``names`` with a value as described (nothing described: any value).

    ``other_than``: any value but these; ``others``: settings of another kind that do the same.
    """

    kind: SettingKind
    names: tuple[str, ...]
    values: tuple[str, ...] | None = None
    other_than: tuple[str, ...] = ()
    contains: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    others: tuple[Trigger, ...] = ()

    def present_in(self, settings: InForce) -> bool:
        """Whether any setting in force has such a value."""
        return any(self.set_by(settings))

    def set_by(self, settings: InForce) -> Iterator[str]:
        """The names in force that have such a value: its own, those that say the same in another release's words, those of another kind."""
        yield from (name for name in self.names if self._fits(name, settings.get((self.kind, name))))
        for source in dict.fromkeys(source for name in self.names for source in speaking_for(self.kind, name)):
            value = settings.get((self.kind, source))
            said = () if value is None else alike(self.kind, source, value)
            if any(name in self.names and self._fits(name, meant) for name, meant in said):
                yield source
        for other in self.others:
            yield from other.set_by(settings)

    def speaks_of(self, name: str) -> bool:
        """Whether some value of that setting is such a one."""
        said = (one for value in values_told(self.kind, name) for one in alike(self.kind, name, value))
        own = name in self.names or any(one[0] in self.names and self._fits(*one) for one in said)
        return own or any(other.speaks_of(name) for other in self.others)

    def _fits(self, name: str, value: Any) -> bool:
        if value is None:
            return False
        text, number = _plain(str(value)), number_of(str(value))
        return (
            (self.values is None or text in map(_plain, self.values))
            and text not in map(_plain, self.other_than)
            and (self.contains is None or self.contains.upper() in _members(name, str(value)))
            and (self.at_least is None or (number is not None and number >= self.at_least))
            and (self.at_most is None or (number is not None and number <= self.at_most))
        )


class Hazard(Value):
    """What can go wrong: ``severity``, ``message`` and ``hint`` are those of the Finding to make; ``source`` is public.

    ``withheld``: a preset's setting that triggers it is left out where ``when`` holds; beside others, one of this library's presets.
    """

    code: str
    severity: Severity
    message: str
    hint: str
    source: str
    triggers: tuple[Trigger, ...]
    when: Mapping[str, Any] = EMPTY
    withheld: bool = False

    def triggered_by(self, settings: InForce) -> bool:
        """Whether every setting that it needs is in force."""
        return all(trigger.present_in(settings) for trigger in self.triggers)

    def set_by(self, settings: InForce) -> tuple[str, ...]:
        """The names in force that trigger it, as they are set, each once."""
        return tuple(dict.fromkeys(name for trigger in self.triggers for name in trigger.set_by(settings)))

    def speaks_of(self, name: str) -> bool:
        """Whether it needs that setting, under this name or another release's."""
        return any(trigger.speaks_of(name) for trigger in self.triggers)


@lru_cache(maxsize=1)
def hazards() -> tuple[Hazard, ...]:
    """Every hazard, in the file's order."""
    return tuple(_hazard(table) for table in read_table("hazards")["hazard"])


def _hazard(table: Mapping[str, Any]) -> Hazard:
    plain = {key: value for key, value in table.items() if key != "settings"}
    return Hazard(**plain, triggers=tuple(map(_trigger, table["settings"])))


def _trigger(entry: Mapping[str, Any]) -> Trigger:
    kind, names = named_setting(entry, "hazards.toml")
    return Trigger(
        kind=kind,
        names=one_or_more(names),
        values=one_or_more(entry["value"]) if "value" in entry else None,
        other_than=one_or_more(entry.get("other_than", [])),
        contains=entry.get("contains"),
        at_least=entry.get("at_least"),
        at_most=entry.get("at_most"),
        others=tuple(map(_trigger, entry.get("or", ()))),
    )


def _members(name: str, value: str) -> set[str]:
    """What a list holds or adds in the end, and what stands for each of its members in other releases."""
    named: set[str] = set()
    for member in (member.strip().upper() for member in value.split(",")):
        (named.discard if member.startswith("-") else named.add)(member.lstrip("+-"))
    return named.union(*(member_rules(name).get(member, ()) for member in named))


def _plain(value: str) -> str:
    """One spelling of a boolean, everything else in lower case."""
    text = value.strip().lower()
    return {"1": "true", "0": "false"}.get(text, text)
