"""Hazards of the final plan, whoever set the values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...model import Finding, Setting
from ..base.conditions import Facts, all_met
from ..in_force import Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...knowledge.hazards import Hazard
    from ...model import SettingKind


__all__ = ["clashes", "hazard_findings", "withheld"]


def hazard_findings(found: Settled, facts: Facts) -> Iterator[Finding]:
    """A finding for each known hazard whose settings are in force and whose conditions hold."""
    in_force = _by_kind(found)
    from ...knowledge.hazards import hazards

    for hazard in hazards():
        if hazard.triggered_by(in_force) and _holds(hazard, facts):
            message = f"{hazard.message}{_named(hazard, hazard.set_by(in_force))} (source: {hazard.source})"
            yield Finding(hazard.code, hazard.severity, message, hazard.hint)


def clashes(found: Settled, facts: Facts, ours: Collection[str]) -> dict[str, Finding]:
    """Each setting of this library's presets (``ours``) that makes a hazard of several settings which they must not complete, and what to say of it.

    Of several the one that the hazard names first: that one can do without the others.
    """
    if not ours:
        return {}
    from ...knowledge.hazards import hazards

    in_force, left_out = _by_kind(found), dict[str, Finding]()
    for hazard in hazards():
        if hazard.withheld and hazard.triggered_by(in_force) and _holds(hazard, facts):
            names = hazard.set_by(in_force)
            for name in [name for name in names if name in ours][:1]:
                others = ", ".join(other for other in names if other != name)
                why = f"{name} of the preset is left out beside {others}. {hazard.message} (source: {hazard.source})"
                left_out[name] = Finding(hazard.code, "warning", why, hazard.hint)
    return left_out


def _by_kind(found: Settled) -> dict[tuple[SettingKind, str], Any]:
    kinds: tuple[tuple[SettingKind, Mapping[str, Any]], ...] = (
        ("xla_flag", found.flags),
        ("env", found.variables),
        ("jax_config", found.options),
    )
    return {(kind, name): value for kind, values in kinds for name, value in values.items()}


def _named(hazard: Hazard, names: tuple[str, ...]) -> str:
    """Which of its settings are meant, where its text names none of them."""
    told = f"{hazard.message} {hazard.hint}".lower()
    return "" if not names or any(name.lower() in told for name in names) else f" Set here: {', '.join(names)}."


def withheld(setting: Setting, facts: Facts) -> str | None:
    """Why a preset does not set this here although its own conditions hold (a sentence), or None."""
    from ...knowledge.hazards import hazards

    asked = {(setting.kind, setting.name): setting.value}
    found = (h.message for h in hazards() if h.withheld and h.triggered_by(asked) and _holds(h, facts))
    return next(found, None)


def _holds(hazard: Hazard, facts: Facts) -> bool:
    """Whether it can strike here: of GPUs that differ, one is enough."""
    kinds = sorted(set(facts.compute_capabilities or ()))
    each = (facts._replace(compute_capabilities=(one,)) for one in kinds) if kinds else (facts,)
    return any(all_met(hazard.when, one) for one in each)
