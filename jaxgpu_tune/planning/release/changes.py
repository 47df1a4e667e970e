"""What changed about XLA's flags between two releases."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from ...knowledge import flags as known
from ...knowledge.flag_spec import FlagSpec
from ...knowledge.translations import Rule, changed_rules, rules
from ...knowledge.versions import matches
from ...values import Value
from ...wording import written

__all__ = ["KINDS", "FlagChange", "flag_changes"]

Kind = Literal["appeared", "vanished", "type", "default", "values", "effect", "meaning"]

KINDS: tuple[Kind, ...] = ("vanished", "meaning", "type", "values", "effect", "default", "appeared")
"""The kinds of change, the most dangerous first."""


class FlagChange(Value):
    """One change of one flag. ``before``, ``after``: what changed, as text (None: not there); ``notes``: what it means.

    For "values" they are the members that went and those that came; for "effect" the fields of XLA's options that it sets.
    """

    name: str
    change: Kind
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()


def flag_changes(old: str, new: str, only: Collection[str] | None = None) -> tuple[FlagChange, ...]:
    """The changes from one release to another (of ``flags.releases()``), by kind, then by name. ``only``: of these flags."""
    names = sorted({*known.flags(old), *known.flags(new)})
    wanted = [name for name in names if only is None or name in only]
    found = [change for name in wanted for change in _changes(name, old, new)]
    return tuple(sorted(found, key=lambda change: KINDS.index(change.change)))


def _changes(name: str, old: str, new: str) -> Iterator[FlagChange]:
    before, after = known.flag(name, old), known.flag(name, new)
    if before is None or after is None:
        yield _came_or_went(name, before, after)
        return
    if before.type != after.type:
        yield FlagChange(name, "type", before.type, after.type)
    if set(before.members) != set(after.members):
        yield FlagChange(name, "values", _but(before, after), _but(after, before))
    if bool(before.fields) != bool(after.fields):
        yield FlagChange(name, "effect", ",".join(before.fields), ",".join(after.fields))
    if _meant(before) != _meant(after):
        yield FlagChange(name, "default", _holds(before), _holds(after))
    for rule in changed_rules("xla_flag", name):
        if matches(rule.releases, new) != matches(rule.releases, old):
            yield FlagChange(name, "meaning", rule.given, None, (rule.intent,))


def _came_or_went(name: str, before: FlagSpec | None, after: FlagSpec | None) -> FlagChange:
    if before is None:
        return FlagChange(name, "appeared", None, _default(after), tuple(filter(None, (known.help_text(name),))))
    stand_ins = tuple(f"{rule.given}: {_instead(rule)} ({rule.intent})" for rule in rules("xla_flag", name))
    return FlagChange(name, "vanished", _default(before), None, stand_ins)


def _instead(rule: Rule) -> str:
    targets = ((kind, name, "…" if value == "{value}" else value) for kind, name, value in rule.targets)
    return "write " + " ".join(written(*one) for one in targets) if rule.targets else "take it out"


def _default(spec: FlagSpec | None) -> str | None:
    """The value that holds without the flag; as registered where no text says it."""
    return None if spec is None else spec.default if spec.effective is None else spec.effective


def _holds(spec: FlagSpec) -> str:
    """As _default; "unset" where setting it to the registered default changes something."""
    return "unset" if spec.effective is None and not spec.undefined else str(_default(spec))


def _meant(spec: FlagSpec) -> object:
    """The default as XLA understands it: another order or case of the same list is no change."""
    try:
        return known.canonical(spec, spec.default if spec.undefined else spec.effective)
    except ValueError:
        return None


def _but(spec: FlagSpec, other: FlagSpec) -> str:
    return ",".join(member for member in spec.members if member not in other.members)
