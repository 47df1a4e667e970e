"""Hazards: settings that are known to go wrong, alone or together, on some GPUs or in some releases.

Only their reading and their triggers are here; whether a hazard's conditions hold is for ``planning/base/conditions.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..model import SettingKind, Severity
from ..values import EMPTY, Value
from ..wording import number_of
from .tables import named_setting, one_or_more, read_table

__all__ = ["Hazard", "InForce", "Trigger", "hazards"]

InForce = Mapping[tuple[SettingKind, str], Any]
"""The settings in force: (kind, name) -> value, XLA's text for flags, the typed value for options."""


class Trigger(Value):
    """One setting that a hazard needs: any of ``names`` with a value as described (nothing described: any value)."""

    kind: SettingKind
    names: tuple[str, ...]
    values: tuple[str, ...] | None = None
    contains: str | None = None
    at_least: float | None = None

    def present_in(self, settings: InForce) -> bool:
        """Whether one of the names is in force with such a value."""
        given = [settings[self.kind, name] for name in self.names if settings.get((self.kind, name)) is not None]
        return any(self._fits(str(value)) for value in given)

    def _fits(self, value: str) -> bool:
        if self.values is not None:
            return any(_plain(value) == _plain(wanted) for wanted in self.values)
        if self.contains is not None:
            return self.contains.upper() in (member.strip().lstrip("+").upper() for member in value.split(","))
        return self.at_least is None or (number_of(value) or float("-inf")) >= self.at_least


class Hazard(Value):
    """What can go wrong: ``severity``, ``message`` and ``hint`` are those of the Finding to make; ``source`` is public.

    ``withheld``: a preset's setting that triggers it by itself is left out where ``when`` holds.
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
        contains=entry.get("contains"),
        at_least=entry.get("at_least"),
    )


def _plain(value: str) -> str:
    """One spelling of a boolean, everything else in lower case."""
    text = value.strip().lower()
    return {"1": "true", "0": "false"}.get(text, text)
