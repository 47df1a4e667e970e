"""Hazards: their form, their triggers, and that they speak of things that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.hazards import Hazard, Trigger, hazards
from jaxgpu_tune.knowledge.presets import all_presets
from jaxgpu_tune.knowledge.tables import DATA, read_toml
from jaxgpu_tune.knowledge.vocabulary import when_problems
from jaxgpu_tune.model import SettingKind

if TYPE_CHECKING:
    from jaxgpu_tune.model import Preset


RELEASES = flags.releases()
AUTHORED = {table["code"]: table for table in read_toml(f"{DATA}/hazards.toml")["hazard"]}
BY_CODE = {hazard.code: hazard for hazard in hazards()}
Key = tuple[SettingKind, str]
every_hazard = pytest.mark.parametrize("hazard", hazards(), ids=lambda hazard: hazard.code)


@every_hazard
def test_a_hazard_is_complete(hazard: Hazard) -> None:
    """Code, severity, sentences, a public source, conditions from the vocabulary."""
    assert hazard.code == hazard.code.lower()
    assert " " not in hazard.code
    assert hazard.severity in ("error", "warning", "note")
    assert hazard.message.endswith(".")
    assert hazard.hint.endswith(".")
    assert hazard.source.startswith("https://")
    assert not when_problems(dict(hazard.when))
    assert hazard.triggers


@every_hazard
def test_a_hazard_names_flags_that_exist(hazard: Hazard) -> None:
    """A misspelt flag would never trigger."""
    names = {name for trigger in hazard.triggers if trigger.kind == "xla_flag" for name in trigger.names}
    assert {name for name in names if not any(flags.flag(name, release) for release in RELEASES)} == set()


@every_hazard
def test_a_hazard_is_found_where_it_struck_and_not_on_the_healthy_neighbour(hazard: Hazard) -> None:
    """Each names its incident's machine and environment, and what differs where all is well."""
    table = AUTHORED[hazard.code]
    assert hazard.code in found_on(table["incident"])
    assert hazard.code not in found_on({**table["incident"], **table["spared"]})


def found_on(place: dict[str, Any]) -> set[str]:
    """The codes of what a plan that adds nothing finds on such a machine."""
    count, processes = place["gpus"], place.get("processes", 1)
    gpu = {"compute_capability": place.get("capability", "9.0"), "count": count}
    machine = {
        "jaxlib": place["jaxlib"],
        "jax": place["jaxlib"],
        "gpus": [gpu] if count else [],
        "processes": {"rank": 0, "local_rank": 0, "count": processes, "local_count": 1},
    }
    report = plan("auto", machine=machine, environ=place["environ"], probe=False)
    return {finding.code for finding in report.findings}


def test_a_mixed_box_has_the_hazards_of_each_of_its_gpus() -> None:
    """R54: one old GPU is enough."""
    gpus = [{"compute_capability": "6.1"}, {"compute_capability": "12.0"}]
    machine = {"jaxlib": "0.9.2", "jax": "0.9.2", "gpus": gpus}
    report = plan("auto", machine=machine, environ={"XLA_FLAGS": "--xla_gpu_triton_gemm_any=true"})
    assert "triton-on-old-gpu" in {finding.code for finding in report.findings}


def test_codes_are_unique() -> None:
    """A finding's code names one hazard."""
    assert len(BY_CODE) == len(hazards())


@pytest.mark.parametrize(
    ("trigger", "value", "fits"),
    [
        (Trigger("xla_flag", ("f",), values=("true",)), "True", True),
        (Trigger("xla_flag", ("f",), values=("true",)), "1", True),
        (Trigger("xla_flag", ("f",), values=("true",)), "false", False),
        (Trigger("xla_flag", ("f",), values=("",)), "", True),
        (Trigger("xla_flag", ("f",), contains="COLLECTIVES"), "FUSION, collectives", True),
        (Trigger("xla_flag", ("f",), contains="COLLECTIVES"), "+COLLECTIVES", True),
        (Trigger("xla_flag", ("f",), contains="COLLECTIVES"), "-COLLECTIVES", False),
        (Trigger("xla_flag", ("f",), contains="COLLECTIVES"), "COLLECTIVES_KERNEL", False),
        (Trigger("xla_flag", ("f",), at_least=100), "100", True),
        (Trigger("xla_flag", ("f",), at_least=100), "99", False),
        (Trigger("xla_flag", ("f",), at_least=100), "x", False),
        (Trigger("xla_flag", ("f", "g")), "anything", True),
        (Trigger("xla_flag", ("g",)), "anything", False),
    ],
)
def test_triggers(trigger: Trigger, value: str, fits: bool) -> None:
    """Each way of describing a value."""
    assert trigger.present_in({("xla_flag", "f"): value}) is fits


def test_every_setting_of_a_hazard_must_be_there() -> None:
    """Two settings together, of which each alone is harmless."""
    hazard = BY_CODE["user-buffers-without-nvls"]
    flag: Key = ("xla_flag", "xla_gpu_enable_nccl_user_buffers")
    env: Key = ("env", "NCCL_NVLS_ENABLE")
    assert hazard.triggered_by({flag: "true", env: "0"})
    assert not hazard.triggered_by({flag: "true"})
    assert not hazard.triggered_by({flag: "true", env: "1"})


def test_options_trigger_with_their_own_type() -> None:
    """jax.config values are not text."""
    assert BY_CODE["share-binary-hangs"].triggered_by({("jax_config", "jax_share_binary_between_hosts"): True})
    assert not BY_CODE["share-binary-hangs"].triggered_by({("jax_config", "jax_share_binary_between_hosts"): False})


def test_a_hazard_of_double_buffered_loops_knows_both_flags_that_ask_for_them() -> None:
    """XLA does the same for either: xla_flags_behaviour.md, and https://github.com/openxla/xla/blob/main/xla/xla.proto."""
    flags: tuple[tuple[SettingKind, str], ...] = (
        ("xla_flag", "xla_gpu_enable_while_loop_double_buffering"),
        ("xla_flag", "xla_gpu_enable_while_loop_unrolling"),
    )
    values = ("true", "WHILE_LOOP_UNROLLING_DOUBLE_BUFFER")
    seen = 0
    for trigger in (trigger for hazard in hazards() for trigger in hazard.triggers):
        one, other = (trigger.present_in({flag: value}) for flag, value in zip(flags, values, strict=True))
        seen += one
        assert other or not one
    assert seen == 4


@pytest.mark.parametrize("preset", [one for one in all_presets() if one.kind == "maintained"], ids=lambda one: one.name)
def test_no_maintained_preset_triggers_a_warning_by_itself(preset: Preset) -> None:
    """Unless both exclude each other by their conditions, which is named here."""
    excluded = {"double-buffering-wrong-offsets", "o1-wrong-offsets", "scheduler-check-fails"}
    settings = {(one.kind, one.name): one.value for one in preset.settings}
    warned = {one.code for one in hazards() if one.severity != "note" and one.triggered_by(settings)}
    assert warned <= excluded
