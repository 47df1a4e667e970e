"""Values that a release takes, or half takes, only in another spelling."""

from __future__ import annotations

from ...knowledge.flag_spec import FlagSpec
from ...knowledge.translations import Translation, translate
from .target import Target

__all__ = ["respelled"]

WORDS = {"1": "true", "0": "false"}


def respelled(spec: FlagSpec, value: str, target: Target, *, refused: bool) -> Translation | None:
    """The same value as this build reads it in full: digits of a bool before 0.4.21, ``+A,-B`` before 0.7.0.

    ``refused``: whether it refuses the value as it stands.
    """
    if refused and spec.form == "bool" and value in WORDS:
        return Translation((("xla_flag", spec.name, WORDS[value]),), "it takes true and false, but no digits")
    changes = _changes(spec, value, target) if spec.first_only else ()
    if len(changes) < 2:
        return None
    intent = "of several changes to a list it applies only the first, so each is said by itself"
    return Translation(tuple(("xla_flag", spec.name, change) for change in changes), intent)


def _changes(spec: FlagSpec, value: str, target: Target) -> tuple[str, ...]:
    """``+A`` and ``-B`` of ``+A,-B``; nothing for other texts."""
    moved = translate(spec.name, value, target.releases[0])
    if moved is not None and [name for _, name, _ in moved.settings] == [spec.name]:
        value = str(moved.settings[0][2])
    changes = tuple(item.strip() for item in value.split(","))
    signed = all(item[:1] in ("+", "-") for item in changes)
    return changes if signed and not any(target.refusal(spec.name, item) for item in changes) else ()
