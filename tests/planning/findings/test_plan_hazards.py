"""Hazards of what is in force, and what of a preset is withheld for one."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.hazards import Hazard, hazards
from jaxgpu_tune.model import Setting
from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.plan_hazards import hazard_findings, withheld
from jaxgpu_tune.planning.in_force import Settled

OLD_GPU = "triton-on-old-gpu"
BY_CODE = {hazard.code: hazard for hazard in hazards()}


def setting(hazard: Hazard) -> Setting:
    """One that triggers a hazard of a single one."""
    (trigger,) = hazard.triggers
    return Setting(trigger.kind, trigger.names[0], (trigger.values or ("true",))[0], reason="", source="")


def found(facts: Facts, *hazard: Hazard) -> set[str]:
    """The codes, where what triggers these is in force."""
    settings = map(setting, hazard)
    wishes = [Wish(one.kind, one.name, one.value, "existing", "", "") for one in settings]
    return {one.code for one in hazard_findings(Settled.of(wishes), facts)}


@pytest.mark.parametrize(
    ("capabilities", "strikes"),
    [(("7.0",), True), (("9.0",), False), (("9.0", "7.0"), True), (("9.0", "9.0"), False), (None, False)],
)
def test_of_gpus_that_differ_one_is_enough(capabilities: tuple[str, ...] | None, strikes: bool) -> None:
    """What is unknown does not strike; and a preset leaves the setting out where it would."""
    facts, hazard = Facts(compute_capabilities=capabilities, jaxlib="0.11.2"), BY_CODE[OLD_GPU]
    assert (OLD_GPU in found(facts, hazard)) is strikes
    assert withheld(setting(hazard), facts) == (hazard.message if strikes else None)


def test_where_nothing_is_in_force_nothing_can_strike() -> None:
    assert found(Facts(compute_capabilities=("7.0",))) == set()


def test_only_some_hazards_keep_a_preset_from_setting_something() -> None:
    """The others are told, and the setting stands."""
    facts = Facts("0.6.2", ("9.0",), 1, 1, True, 1, 1, "cuda", "2.28.9")
    hazard = BY_CODE["scheduler-memory"]
    assert not hazard.withheld and hazard.code in found(facts, hazard) and withheld(setting(hazard), facts) is None


def test_a_finding_has_the_source_of_its_fact() -> None:
    hazard = BY_CODE[OLD_GPU]
    wishes = [Wish(one.kind, one.name, one.value, "preset", "", "") for one in [setting(hazard)]]
    (finding,) = hazard_findings(Settled.of(wishes), Facts(compute_capabilities=("7.0",)))
    assert finding.message == f"{hazard.message} Set here: {wishes[0].name}. (source: {hazard.source})"
    assert (finding.severity, finding.hint) == (hazard.severity, hazard.hint)
