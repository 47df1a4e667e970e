"""Hazards of what is in force, and what of a preset is withheld for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge.hazards import Hazard, hazards
from jaxgpu_tune.model import Setting
from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.plan_hazards import hazard_findings, withheld
from jaxgpu_tune.planning.in_force import Settled
from tests.fleet import machine

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


MODE, DOUBLE = "xla_gpu_command_buffer_scheduling_mode", "xla_gpu_enable_while_loop_double_buffering"
CONCURRENT, BUFFERED = f"--{MODE}=CONCURRENT", f"--{DOUBLE}=true"
OLDER = "--xla_gpu_graph_enable_concurrent_region=true"
HANGS = "concurrent-double-buffering-hangs"


@pytest.mark.parametrize(
    ("preset", "existing", "arguments", "left_out"),
    [
        ("pipeline_parallel", BUFFERED, {}, MODE),
        ("simulation", "--xla_gpu_enable_while_loop_unrolling=WHILE_LOOP_UNROLLING_DOUBLE_BUFFER", {}, MODE),
        ("fsdp", CONCURRENT, {}, DOUBLE),
        ("fsdp", OLDER, {}, DOUBLE),
        ("fsdp", "", {"flags": {MODE: "CONCURRENT"}}, DOUBLE),
        ("fsdp+pipeline_parallel", "", {}, MODE),
    ],
)
@pytest.mark.parametrize("prefer", ["existing", "preset"])
def test_a_preset_does_not_complete_what_is_known_to_hang(
    preset: str, existing: str, arguments: dict[str, Any], left_out: str, prefer: Any
) -> None:
    """Its setting is left out beside what is set already, what is asked for, or what comes first of two presets; and said to be."""
    made = plan(preset, machine=machine("H200", 2), environ={"XLA_FLAGS": existing}, prefer=prefer, **arguments)
    assert left_out not in made.xla_flags
    assert (CONCURRENT in made.xla_flags or OLDER in made.xla_flags) is (left_out == DOUBLE)
    told = [one for one in made.findings if one.code == HANGS]
    assert len(told) == 1 and told[0].message.startswith(f"{left_out} of the preset is left out beside xla_gpu_")
    assert not any(one.code == "preset-sets-nothing" for one in made.findings)
    (decision,) = [one for one in made.decisions if one.name == left_out]
    assert decision.status == "unmet" and decision.reason == told[0].message


def test_what_is_asked_for_is_set_however_dangerous() -> None:
    """Both by the user: a warning, no more; and a preset whose other part is set to its default is whole."""
    both = plan("auto", machine=machine("H200", 2), environ={"XLA_FLAGS": f"{CONCURRENT} {BUFFERED}"})
    assert CONCURRENT in both.xla_flags and BUFFERED in both.xla_flags
    assert [one.code for one in both.findings if one.code == HANGS] == [HANGS]
    whole = plan("fsdp+pipeline_parallel", machine=machine("H200", 2), environ={}, flags={DOUBLE: None})
    assert CONCURRENT in whole.xla_flags and not any(one.code == HANGS for one in whole.findings)


def test_a_preset_file_of_the_user_stays_whole(tmp_path: Path) -> None:
    """As `tune` writes it after a proof: it is warned of. A preset of this library gives way to it."""
    file = tmp_path / "tuned.toml"
    file.write_text(
        f'summary = "mine"\n[[set]]\nflag = "{MODE}"\nvalue = "CONCURRENT"\n[[set]]\nflag = "{DOUBLE}"\nvalue = true\n'
    )
    own = plan(str(file), machine=machine("H200", 2), environ={})
    assert CONCURRENT in own.xla_flags and BUFFERED in own.xla_flags
    assert [one.message.startswith("CUDA graphs") for one in own.findings if one.code == HANGS] == [True]
    file.write_text(f'summary = "mine"\n[[set]]\nflag = "{MODE}"\nvalue = "CONCURRENT"\n')
    joined = plan(f"{file}+fsdp", machine=machine("H200", 2), environ={})
    assert CONCURRENT in joined.xla_flags and BUFFERED not in joined.xla_flags
