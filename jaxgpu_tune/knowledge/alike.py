"""Settings that say the same in the words of several releases, as the translations tell: what is known of one is known of all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..model import SettingKind
from .translations import all_rules, rules

__all__ = ["alike", "speaking_for", "values_told"]


@lru_cache(maxsize=256)
def speaking_for(kind: SettingKind, name: str) -> tuple[str, ...]:
    """The other names of settings of the kind that may say what this one says, by one translation or several."""
    found = [name]
    for known in found:
        found += [source for source in _sources().get((kind, known), {}) if source not in found]
    return tuple(found[1:])


def alike(kind: SettingKind, name: str, value: Any) -> tuple[tuple[str, Any], ...]:
    """The other settings (name, value) of the kind that say the same as this one, by one translation or several."""
    found = [(name, value)]
    for known in found:
        found += [one for one in _targets(kind, *known) if one not in found]
    return tuple(one for one in found if one[0] != name)


def values_told(kind: SettingKind, name: str) -> tuple[Any, ...]:
    """Values of a setting of which a translation tells; of a range the bound."""
    told = ((rule.at_least,) if rule.values is None else rule.values for rule in rules(kind, name))
    return tuple(value for values in told for value in values if value is not None)


def _targets(kind: SettingKind, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    for rule in rules(kind, name):
        if rule.lossless and rule.applies(value):
            yield from ((target, text) for its, target, text in rule.settings(value) if its == kind)


@lru_cache(maxsize=1)
def _sources() -> dict[tuple[SettingKind, str], dict[str, None]]:
    """By the name that stands for others: these, in the file's order."""
    found: dict[tuple[SettingKind, str], dict[str, None]] = {}
    for rule in (rule for rule in all_rules() if rule.lossless):
        for kind, name, _ in (*rule.targets, *(rule.each or {}).values()):
            if kind == rule.kind and name != rule.name:
                found.setdefault((kind, name), {})[rule.name] = None
    return found
