"""Hazards of the final plan, whoever set the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model import Finding
from .conditions import Facts, all_met
from .merge import text_of
from .wish import Wish

__all__ = ["check"]


def check(wishes: Iterable[Wish], facts: Facts) -> Iterator[Finding]:
    """A finding for each known hazard whose settings are in force and whose conditions hold."""
    in_force = {
        (w.kind, w.name): text_of(w) if w.kind != "jax_config" else w.value for w in wishes if w.value is not None
    }
    if not in_force:
        return
    from ..knowledge.hazards import hazards

    for hazard in hazards():
        if hazard.triggered_by(in_force) and all_met(hazard.when, facts):
            yield Finding(hazard.code, hazard.severity, f"{hazard.message} (source: {hazard.source})", hazard.hint)
