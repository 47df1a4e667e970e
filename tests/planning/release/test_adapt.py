"""A setting in the words of a build, whoever asks for it: what is wrong raises for an argument, is left out and told for the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.errors import BadFlagValue, BadSetting, UnknownFlag
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.model import Preset, Setting
from jaxgpu_tune.planning.base.wish import Outcome
from jaxgpu_tune.planning.release.adapt import adapt, mistakes
from jaxgpu_tune.planning.release.target import Target, target_of
from tests.fleet import machine

HERE = target_of(machine())
ORIGINS = ("argument", "request", "existing", "preset")
LEVEL, OLD, FUSIONS = "xla_gpu_autotune_level", "xla_gpu_graph_level", "xla_gpu_enable_custom_fusions"
RELEASES = ("0.4.31", "0.5.3", "0.11.2")


def adapted(kind: Any, name: str, value: Any, origin: Any, target: Target = HERE) -> Outcome:
    """What becomes of one setting."""
    return adapt((Setting(kind, name, value, "it is faster", "mine.toml"),), origin, target)


def left_out(found: Outcome, error: type[Exception], code: str, origin: str) -> list[str]:
    """The words of its finding: a problem of an argument, else a decision and a finding; nothing is wished."""
    assert found.wishes == ()
    if origin == "argument":
        (problem,) = found.problems
        finding, raised = problem.finding, problem.error
        assert raised is error and finding.code == code and finding.severity == "error"
        assert found.decisions == () and found.findings == ()
        return [finding.message]
    (decision,) = found.decisions
    assert decision.value is None and found.problems == () and decision.source == "mine.toml"
    assert decision.status == ("dropped" if origin == "existing" or error is BadSetting else "absent")
    assert {finding.code for finding in found.findings} <= {code}
    return [finding.message for finding in found.findings]


@given(st.sampled_from(ORIGINS), st.sampled_from(RELEASES), st.data())
def test_what_a_build_takes_is_wished_as_it_was_asked_for(origin: str, release: str, data: st.DataObject) -> None:
    """Its own default of every flag, too."""
    target = target_of(machine(jaxlib=release))
    specs = [one for one in known.flags(release).values() if one.effective is not None and not one.undefined]
    spec = data.draw(st.sampled_from(specs))
    found = adapted("xla_flag", spec.name, spec.effective, origin, target)
    for wish in found.wishes:
        assert target.flag(wish.name) is not None and target.refusal(wish.name, wish.value) is None
    if not any(decision.status == "translated" for decision in found.decisions):
        (wish,) = found.wishes
        assert (wish.name, wish.value, wish.origin, wish.translated) == (spec.name, spec.effective, origin, False)
        assert (wish.reason, wish.source, wish.text) == ("it is faster", "mine.toml", None)
    assert found.problems == ()


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_refused_value(origin: str) -> None:
    """What is inherited ends the process, an error; a preset's or an earlier call's is a warning that names its place."""
    found = adapted("xla_flag", LEVEL, "x", origin)
    (message,) = left_out(found, BadFlagValue, "bad-flag-value", origin)
    assert f"--{LEVEL} does not take 'x'" in message
    for finding in found.findings:
        assert finding.severity == ("error" if origin == "existing" else "warning")
        assert ("where XLA_FLAGS is set" in finding.hint) is (origin == "existing")
        assert ("mine.toml" in finding.hint) is (origin != "existing")


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", ["xla_gpu_autotune_levl", "xla_gpu_unsupported_use_all_reduce_one_shot_kernel"])
def test_a_name_that_no_release_has_is_a_mistake_and_one_of_another_release_is_not(origin: str, name: str) -> None:
    target = target_of(machine(jaxlib="0.4.31"))
    found = adapted("xla_flag", name, "true", origin, target)
    if known.known(name) and origin == "argument":
        assert found.problems == () and found.decisions[0].status == "absent"
        return
    messages = left_out(found, UnknownFlag, "unknown-flag", origin)
    assert bool(messages) is (origin != "preset" or not known.known(name))
    assert all(f"--{name}" in message for message in messages)
    assert all(("(mine.toml)" in message) is (origin == "preset") for message in messages)
    if not known.known(name):
        told = [*found.findings, *(problem.finding for problem in found.problems)]
        assert told[0].hint == f"Did you mean --{LEVEL}?"


@pytest.mark.parametrize("origin", ORIGINS)
def test_without_a_jaxlib_nothing_can_be_known(origin: str) -> None:
    found = adapted("xla_flag", LEVEL, "1", origin, Target(()))
    assert found.wishes == found.findings == found.problems == ()
    assert found.decisions[0].status == "absent" and "no jaxlib is known" in found.decisions[0].reason


@pytest.mark.parametrize("origin", ORIGINS)
def test_what_the_binary_itself_said_goes_before_tables(origin: str) -> None:
    """A flag that it took though no table has it, and one that it refused though one has."""
    new = HERE._replace(accepted=frozenset({"xla_new"}), refused=frozenset({LEVEL}))
    assert adapted("xla_flag", "xla_new", "1", origin, new).wishes[0].name == "xla_new"
    assert "the installed binary refuses it" in adapted("xla_flag", LEVEL, "1", origin, new).decisions[0].reason


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("name", "value", "became"), [(OLD, "0", 1), (FUSIONS, "true", 1)])
def test_an_old_name_is_translated_and_told_to_who_wrote_it(origin: str, name: str, value: str, became: int) -> None:
    found = adapted("xla_flag", name, value, origin)
    assert [decision.status for decision in found.decisions] == ["translated"] and len(found.wishes) == became
    assert all(wish.translated and wish.origin == origin and wish.text is None for wish in found.wishes)
    assert all(wish.reason == f"stands for --{name}={value} (it is faster)" for wish in found.wishes)
    assert [finding.code for finding in found.findings] == ["flag-translated"] * (origin != "preset")
    for finding in found.findings:
        assert f"--{name}={value} is not for jaxlib 0.11.2" in finding.message
        assert finding.hint == f"Write {found.decisions[0].value} from now on."


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("name", "value"), [("jax_enable_x64", "maybe"), ("jax_default_matmul_precision", "lots")])
def test_an_option_that_jax_cannot_read(origin: str, name: str, value: str) -> None:
    """``import jax`` raises on a word that is no switch."""
    found = adapted("jax_config", name, value, origin)
    (message,) = left_out(found, BadSetting, "bad-option-value", origin)
    assert name in message
    assert (f"{name.upper()}: " in message and "`import jax` would raise; it is taken out." in message) is (
        origin == "existing"
    )
    assert ("correct it in mine.toml" in message) is (origin in ("preset", "request"))
    assert all(finding.severity == "error" for finding in found.findings)


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_option_that_no_jax_has(origin: str) -> None:
    found = adapted("jax_config", "jax_enable_x65", True, origin)
    assert found.wishes == ()
    if origin == "argument":
        assert [(one.finding.code, one.error) for one in found.problems] == [("unknown-option", BadSetting)]
        assert found.problems[0].finding.hint == "Did you mean jax_enable_x64?"
        return
    assert [decision.status for decision in found.decisions] == ["absent"] and found.problems == ()
    codes = {"request": ["unknown-option", "option-absent"], "preset": ["unknown-option"], "existing": []}
    assert [finding.code for finding in found.findings] == codes[origin]


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_variable_that_its_reader_cannot_take(origin: str) -> None:
    """Taken out where it is set already or was asked for before; left out of a preset; an argument has to be mended."""
    found = adapted("env", "XLA_CLIENT_MEM_FRACTION", "much", origin)
    assert found.wishes == ()
    if origin in ("existing", "request"):
        assert [(one.status, one.value) for one in found.decisions] == [("dropped", None)]
        assert [(one.code, one.severity) for one in found.findings] == [("bad-variable", "error")]
        assert found.findings[0].message.endswith("It is taken out.")
    elif origin == "preset":
        assert [(one.code, one.severity) for one in found.findings] == [("bad-variable", "warning")]
        assert found.findings[0].hint.startswith("Correct it in mine.toml.")
    else:
        assert [(one.finding.code, one.error) for one in found.problems] == [("bad-variable", BadSetting)]


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_variable_of_an_option_is_the_option(origin: str) -> None:
    """Except where it is set already, and stays a variable; the umbrella of the transfer guards is all three of them."""
    found = adapted("env", "JAX_ENABLE_X64", "true", origin)
    (wish,) = found.wishes
    kept = ("env", "JAX_ENABLE_X64", "true")
    assert (wish.kind, wish.name, wish.value) == (
        kept if origin == "existing" else ("jax_config", "jax_enable_x64", True)
    )
    guards = adapted("jax_config", "jax_transfer_guard", "log", origin).wishes
    assert len(guards) == (1 if origin == "existing" else 3)
    assert {guard.value for guard in guards} == {"log"}


def test_mistakes_of_a_users_preset_are_told_though_its_settings_do_not_hold_here() -> None:
    """What no release takes; what this one alone lacks is none, nor is anything of a preset of ours."""
    unmet = [
        Setting("xla_flag", "xla_gpu_no_such", "1", "because", "preset mine"),
        Setting("xla_flag", "xla_gpu_graph_level", "1", "because", "preset mine"),
        Setting("xla_flag", "xla_gpu_autotune_level", "many", "because", "preset mine"),
        Setting("jax_config", "jax_no_such", "1", "because", "preset mine"),
    ]
    here = target_of(machine())
    found = mistakes(Preset("mine", "For me.", "user"), unmet, here)
    assert [one.code for one in found.findings] == ["unknown-flag", "bad-flag-value", "unknown-option"]
    assert {one.severity for one in found.findings} == {"warning"} and found == Outcome(findings=found.findings)
    assert all("preset mine" in f"{one.message} {one.hint}" for one in found.findings)
    assert mistakes(Preset("ours", "For all.", "maintained"), unmet, here) == Outcome()
