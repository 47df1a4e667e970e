"""Values that a release takes, or half takes, only in another spelling."""

from __future__ import annotations

from ..knowledge import flags as known
from ..knowledge.flag_spec import FlagSpec
from ..knowledge.translations import Translation, translate
from .target import Target

__all__ = ["respelled"]

WORDS = {"1": "true", "0": "false"}


def respelled(spec: FlagSpec, value: str, target: Target) -> Translation | None:
    """The same value as this build reads it in full: digits of a bool before 0.4.21, ``+A,-B`` before 0.7.0."""
    if spec.form == "bool" and value in WORDS and target.refusal(spec.name, value):
        return Translation((("xla_flag", spec.name, WORDS[value]),), "it takes true and false, but no digits")
    whole = _whole_list(spec, value, target) if spec.first_only else None
    if whole is None:
        return None
    intent = "of several changes to a list it applies only the first, so the whole list is said"
    return Translation((("xla_flag", spec.name, whole),), intent)


def _whole_list(spec: FlagSpec, value: str, target: Target) -> str | None:
    """The list that ``+A,-B`` makes of the default, where XLA would stop after A."""
    moved = translate(spec.name, value, target.releases[0])
    if moved is not None and [name for _, name, _ in moved.settings] == [spec.name]:
        value = str(moved.settings[0][2])
    changes = [item.strip() for item in value.split(",")]
    if len(changes) < 2 or not all(item[:1] in ("+", "-") for item in changes):
        return None
    try:
        members = known.canonical(spec._replace(first_only=False), value)
    except ValueError:
        return None
    return ",".join(map(str, members)) if isinstance(members, tuple) else None
