"""Variables that were changed after jax had read them: told, where their options are still asked for."""

from __future__ import annotations

import pytest

from jaxgpu_tune.model import Decision
from jaxgpu_tune.planning.findings.changed_unread import unread_findings

LEVEL, GUARD = "jax_optimization_level", "jax_transfer_guard_host_to_device"


def said(variable: str, environ: dict[str, str], *decisions: Decision) -> list[str]:
    return [one.message for one in unread_findings([variable], environ, decisions)]


def option(name: str, value: str | None, status: str = "set", origin: str = "request") -> Decision:
    """What a plan decides about it."""
    return Decision("jax_config", name, value, status, "", "", origin)  # type: ignore[arg-type]


def test_what_was_done_to_the_variable_and_what_stays_are_told() -> None:
    variable = LEVEL.upper()
    changed = said(variable, {variable: "O1"}, option(LEVEL, "O2"))
    assert [text.partition(" was ")[2].partition(" after")[0] for text in changed] == ["set to O1"]
    assert f"jax.config.{LEVEL} stays O2 here" in changed[0]
    (removed,) = said(variable, {}, option(LEVEL, None, "removed"))
    assert " was removed after" in removed and "stays its default here" in removed
    (umbrella,) = said("JAX_TRANSFER_GUARD", {"JAX_TRANSFER_GUARD": "log"}, option(GUARD, "allow"))
    assert f"{GUARD} stays allow" in umbrella


@pytest.mark.parametrize(
    "decisions", [(), (option(LEVEL, "O2", origin="argument"),), (option(LEVEL, "O2", "kept", "existing"),)]
)
def test_what_is_written_anew_or_no_longer_asked_for_is_not(decisions: tuple[Decision, ...]) -> None:
    assert said(LEVEL.upper(), {}, *decisions) == []
