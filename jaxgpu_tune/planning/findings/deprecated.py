"""Flags that this release takes and does nothing with, and those that XLA itself calls deprecated. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.translations import rules
from ...model import Finding
from ..in_force import Settled
from ..release.target import Target

__all__ = ["check_deprecated"]

ACTS_ELSEWHERE = ("xla_fuel",)
"""Writes no field of XLA's options and acts all the same."""


def check_deprecated(found: Settled, target: Target) -> Iterator[Finding]:
    """A note for each flag in force that has no effect, or that is to go."""
    for name, value in found.flags.items():
        spec = target.flag(name)
        if spec is None or name in ACTS_ELSEWHERE:
            continue
        if not spec.fields:
            message = f"--{name}={value} has no effect: {target.label} takes the flag and does nothing with it."
            yield Finding(
                "flag-without-effect", "note", message, "Take it out: a later release may end the process on it."
            )
        elif spec.deprecated:
            message = f"--{name}: XLA calls the flag deprecated in {target.label}; it still acts."
            yield Finding("flag-deprecated", "note", message, _instead(name, value, target))


def _instead(flag: str, given: str, target: Target) -> str:
    """What stands for it in this release already."""
    for rule in rules("xla_flag", flag):
        settings = rule.settings(given) if rule.applies(given) else ()
        if settings and all(kind == "xla_flag" and target.flag(name) for kind, name, _ in settings):
            return f"Write {' '.join(f'--{name}={value}' for _, name, value in settings)} instead."
    return "A later release may end the process on it."
