"""Hazards: their form, their triggers, and that they speak of things that exist."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.alike import alike, speaking_for
from jaxgpu_tune.knowledge.hazards import Hazard, Trigger, hazards
from jaxgpu_tune.knowledge.presets import all_presets
from jaxgpu_tune.knowledge.tables import DATA, read_toml
from jaxgpu_tune.knowledge.translations import all_rules
from jaxgpu_tune.knowledge.versions import matches
from jaxgpu_tune.knowledge.vocabulary import when_problems
from jaxgpu_tune.model import SettingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.mark.parametrize("hazard", [one for one in hazards() if "jaxlib" in one.when], ids=lambda one: one.code)
def test_a_hazard_is_found_up_to_the_bounds_of_its_releases_and_not_beyond(hazard: Hazard) -> None:
    """Whatever words its settings have there; but for releases of jax that have no such option, and nothing for it."""
    holds = {release: matches(hazard.when["jaxlib"], release) for release in RELEASES}
    bounds = [(RELEASES[0], RELEASES[-1]), *((a, b) for a, b in pairwise(RELEASES) if holds[a] != holds[b])]
    incident = AUTHORED[hazard.code]["incident"]
    for release in {one for bound in bounds for one in bound}:
        absent = hazard.code == "remat-option-replaces-passes" and release == RELEASES[0]
        found = hazard.code in found_on({**incident, "jaxlib": release})
        assert found is (holds[release] and not absent), release


def found_on(place: dict[str, Any], **asked: Any) -> set[str]:
    """The codes of what a plan that adds nothing but what is asked for finds on such a machine."""
    count, processes = place["gpus"], place.get("processes", 1)
    gpu = {"compute_capability": place.get("capability", "9.0"), "count": count}
    machine = {
        "jaxlib": place["jaxlib"],
        "jax": place["jaxlib"],
        "gpus": [gpu] if count else [],
        "processes": {"rank": 0, "local_rank": 0, "count": processes, "local_count": 1},
    }
    report = plan("auto", machine=machine, environ=place["environ"], probe=False, **asked)
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


def spellings(text: str, release: str) -> Iterator[str]:
    """A text of flags as others write the same: booleans, and each flag in the other words that the release has."""
    tokens = [token.removeprefix("--").partition("=")[::2] for token in text.split()]
    for at, (name, value) in enumerate(tokens):
        other = [(name, one) for one in BOOLEANS.get(value, ())] + list(other_words(name, value, release))
        for one, said in other:
            stated = [*tokens[:at], (one, said), *tokens[at + 1 :]]
            yield " ".join(f"--{flag}={its}" for flag, its in stated)


def other_words(name: str, value: str, release: str) -> Iterator[tuple[str, str]]:
    """What the release takes, and the translations turn into this."""
    for rule in (rule for rule in all_rules() if rule.kind == "xla_flag" and rule.name != name and rule.values):
        spec = flags.flag(rule.name, release)
        for said in rule.values or () if spec else ():
            if (name, value) in alike("xla_flag", rule.name, said) and not flags.check_value(spec, said, release):
                yield rule.name, said


BOOLEANS = {"true": ("True", "1"), "false": ("False", "0")}
NOT_ASKED = ("undefined-unrolling", "autotuning-apart")
"""As an argument the one raises; the other is the default of the incident's release, so that nothing is set."""


@pytest.mark.parametrize(
    "hazard",
    [one for one in hazards() if "XLA_FLAGS" in AUTHORED[one.code]["incident"]["environ"]],
    ids=lambda one: one.code,
)
def test_a_hazard_is_found_however_its_flags_are_written(hazard: Hazard) -> None:
    """Booleans as XLA reads them, the other switches of the release for the same thing; as arguments of the call, too."""
    incident = AUTHORED[hazard.code]["incident"]
    text = incident["environ"]["XLA_FLAGS"]
    for written in (text, *spellings(text, incident["jaxlib"])):
        environ = {**incident["environ"], "XLA_FLAGS": written}
        assert hazard.code in found_on({**incident, "environ": environ}), written
        asked = dict(token.removeprefix("--").partition("=")[::2] for token in written.split())
        if hazard.code not in NOT_ASKED:
            assert hazard.code in found_on({**incident, "environ": environ | {"XLA_FLAGS": ""}}, flags=asked), written


@pytest.mark.parametrize(
    ("code", "jaxlib", "environ"),
    [
        ("concurrent-loops-hang", "0.11.2", {"XLA_FLAGS": "--xla_gpu_graph_enable_concurrent_region --xla_gpu_enable_command_buffer=+while"}),
        ("concurrent-double-buffering-hangs", "0.7.1", {"XLA_FLAGS": "--xla_gpu_graph_enable_concurrent_region=1 --xla_gpu_enable_while_loop_double_buffering"}),
        ("collectives-in-graphs", "0.4.20", {"XLA_FLAGS": "--xla_gpu_enable_command_buffer=FUSION,NCCL"}),
        ("collectives-in-graphs", "0.11.2", {"XLA_FLAGS": "--xla_gpu_enable_command_buffer=FUSION,NCCL"}),
        ("no-command-buffers", "0.11.2", {"XLA_FLAGS": "--xla_gpu_graph_level=0"}),
        ("symmetric-buffers-faults", "0.11.2", {"XLA_FLAGS": "--xla_enable_nccl_symmetric_buffers_for_collectives=AllReduce:1024"}),
        ("few-nccl-channels", "0.11.2", {"NCCL_MAX_CTAS": "6"}),
        ("few-nccl-channels", "0.11.2", {"NCCL_MAX_NCHANNELS": "2"}),
        ("few-nccl-channels", "0.11.2", {"XLA_FLAGS": "--xla_gpu_nccl_collective_max_nchannels=4"}),
        ("scheduler-memory", "0.6.2", {"JAX_OPTIMIZATION_LEVEL": "O2"}),
        ("scheduler-memory", "0.6.2", {"JAX_EXEC_TIME_OPTIMIZATION_EFFORT": "0.3"}),
        ("o1-sets-the-same", "0.5.3", {"JAX_OPTIMIZATION_LEVEL": "O1", "XLA_FLAGS": "--xla_gpu_enable_pipelined_collectives=true"}),
        ("o1-sets-the-same", "0.4.38", {"JAX_OPTIMIZATION_LEVEL": "O1", "XLA_FLAGS": "--xla_gpu_enable_while_loop_double_buffering=1"}),
        ("threshold-overrules-o1", "0.10.2", {"JAX_EXEC_TIME_OPTIMIZATION_EFFORT": "0.5", "XLA_FLAGS": "--xla_gpu_all_reduce_combine_threshold_bytes=1"}),
        ("platform-allocator", "0.11.2", {"XLA_PYTHON_CLIENT_ALLOCATOR": "Address"}),
    ],
)  # fmt: skip
def test_the_other_spellings_that_were_met(code: str, jaxlib: str, environ: dict[str, str]) -> None:
    """An older or newer name, a member of a list, an option for a flag, a variable for another."""
    gpus = AUTHORED[code]["incident"]["gpus"]
    assert code in found_on({"jaxlib": jaxlib, "gpus": gpus, "environ": environ})


@pytest.mark.parametrize(
    ("code", "jaxlib", "environ"),
    [
        ("concurrent-loops-hang", "0.7.0", {"XLA_FLAGS": "--xla_gpu_graph_enable_concurrent_region=true --xla_gpu_enable_command_buffer=+WHILE"}),
        ("concurrent-loops-hang", "0.11.2", {"XLA_FLAGS": "--xla_gpu_graph_enable_concurrent_region=false --xla_gpu_enable_command_buffer=+WHILE"}),
        ("collectives-in-graphs", "0.11.2", {"XLA_FLAGS": "--xla_gpu_enable_command_buffer=+COLLECTIVES,-COLLECTIVES"}),
        ("symmetric-buffers-faults", "0.11.2", {"XLA_FLAGS": "--xla_enable_nccl_symmetric_buffers_for_collectives=noop"}),
        ("few-nccl-channels", "0.11.2", {"XLA_FLAGS": "--xla_gpu_nccl_collective_max_nchannels=0"}),
        ("scheduler-memory", "0.6.2", {"JAX_EXEC_TIME_OPTIMIZATION_EFFORT": "0.1"}),
        ("threshold-overrules-o1", "0.11.2", {"JAX_OPTIMIZATION_LEVEL": "O1", "XLA_FLAGS": "--xla_gpu_all_gather_combine_threshold_bytes=31457287"}),
        ("permute-ring-fails", "0.11.2", {"XLA_FLAGS": "--xla_gpu_collective_permute_decomposer_threshold=9223372036854775807 --xla_gpu_enable_pipelined_p2p=true"}),
        ("remat-option-replaces-passes", "0.10.2", {"JAX_COMPILER_ENABLE_REMAT_PASS": "false"}),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_hazard(code: str, jaxlib: str, environ: dict[str, str]) -> None:
    """The default said, what is taken back, a switch that is off."""
    gpus = AUTHORED[code]["incident"]["gpus"]
    assert code not in found_on({"jaxlib": jaxlib, "gpus": gpus, "environ": environ})


def test_two_switches_of_one_field_are_known_to_be_the_same() -> None:
    """What the wheels tell: a hazard of the one is then a hazard of the other. The CPU's, and filters that add up, are named."""
    apart = {"xla_cpu_scheduler_type", "xla_gpu_experimental_thunk_buffer_debug_filter"}
    for release in RELEASES:
        writing: dict[str, list[str]] = {}
        for name, spec in flags.flags(release).items():
            for field in spec.fields:
                writing.setdefault(field, []).append(name)
        for field, names in writing.items():
            related = {names[0], *speaking_for("xla_flag", names[0])}
            related |= {one for one in names if names[0] in speaking_for("xla_flag", one)}
            assert field in apart or set(names) <= related, (release, field, names)


def test_every_switch_of_triton_is_a_hazard_on_old_gpus() -> None:
    """What is no switch of it, though it is called so, is named."""
    about = ("dump", "verify", "disable", "deterministic", "i4_rewrites", "triton_gemm_int4")
    (trigger,) = BY_CODE["triton-on-old-gpu"].triggers
    switches = {
        name
        for release in RELEASES
        for name, spec in flags.flags(release).items()
        if "triton" in name and spec.type == "bool" and not any(word in name for word in about)
    }
    assert switches == set(trigger.names)


@pytest.mark.parametrize("preset", [one for one in all_presets() if one.kind == "maintained"], ids=lambda one: one.name)
def test_no_maintained_preset_triggers_a_warning_by_itself(preset: Preset) -> None:
    """Unless both exclude each other by their conditions, which is named here."""
    excluded = {
        *("double-buffering-wrong-offsets", "o1-wrong-offsets", "scheduler-check-fails"),
        *("pipelining-diverged", "pipelining-double-buffering-crash"),
    }
    settings = {(one.kind, one.name): one.value for one in preset.settings}
    warned = {one.code for one in hazards() if one.severity != "note" and one.triggered_by(settings)}
    assert warned <= excluded
