"""What a build does not take: an argument is a problem, what is inherited is dropped with a finding, what is offered is told where that helps."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.errors import BadFlagValue, BadSetting, UnknownFlag
from jaxgpu_tune.knowledge.options import option
from jaxgpu_tune.planning.base.wish import Outcome, Wish
from jaxgpu_tune.planning.release import left_out
from jaxgpu_tune.planning.release.target import Target

HERE = Target(("0.11.2",), jaxlib="0.11.2")
OLD, NEW = "xla_gpu_graph_level", "xla_gpu_autotune_level"


def wish(origin: str, name: str = OLD, value: Any = "1", kind: str = "xla_flag") -> Wish:
    """One that somebody has."""
    return Wish(kind, name, value, origin, "because", f"{origin} x")  # type: ignore[arg-type]


def told(outcome: Outcome) -> tuple[list[str], list[tuple[str, str]], list[type]]:
    """Statuses, findings and errors; no wish is left of any."""
    assert outcome.wishes == ()
    return (
        [one.status for one in outcome.decisions],
        [(one.code, one.severity) for one in outcome.findings],
        [one.error for one in outcome.problems],
    )


UNKNOWN = [("unknown-flag", "warning")]


@pytest.mark.parametrize(
    ("origin", "name", "answer"),
    [
        ("argument", "xla_gpu_autotune_levle", ([], [], [UnknownFlag])),
        ("argument", OLD, (["absent"], UNKNOWN, [])),
        ("existing", OLD, (["dropped"], UNKNOWN, [])),
        ("existing", "xla_no_such", (["dropped"], UNKNOWN, [])),
        ("preset", OLD, (["absent"], [], [])),
        ("fault", OLD, (["absent"], [], [])),
        ("preset", "xla_no_such", (["absent"], UNKNOWN, [])),
    ],
)
def test_a_flag_that_the_build_lacks(origin: str, name: str, answer: object) -> None:
    assert told(left_out.no_such_flag(wish(origin, name), HERE)) == answer


def test_why_a_flag_is_absent_and_what_was_meant() -> None:
    gone = left_out.no_such_flag(wish("existing"), HERE)
    assert "has no such flag (it existed in jaxlib 0.4.18 to " in gone.decisions[0].reason
    assert gone.decisions[0].reason.endswith("; it would end the process")
    assert gone.findings[0].message.startswith(f"--{OLD} is left out: ")
    never = left_out.no_such_flag(wish("argument", f"{NEW}s"), HERE).problems[0].finding
    assert "no XLA flag of jaxlib 0.11.2 has that name" in never.message and never.hint == f"Did you mean --{NEW}?"
    other = left_out.no_such_flag(wish("argument", "xla_gpu_graph_levl"), HERE).problems[0].finding
    assert other.hint.startswith("Did you mean --xla_gpu_graph_level? Jaxlib 0.11.2 has no such flag (it existed in ")
    refused = left_out.no_such_flag(wish("preset", NEW), Target(("0.11.2",), refused=frozenset({NEW})))
    assert "the installed binary refuses it" in refused.decisions[0].reason
    strange = left_out.no_such_flag(wish("existing", NEW), Target(("0.11.2",), refused=frozenset({NEW})))
    assert strange.findings[0].hint == ""
    mine = left_out.no_such_flag(wish("preset", "xla_no_such"), HERE)
    assert mine.findings[0].message.startswith("--xla_no_such (preset x) is left out: ")
    nothing = left_out.no_such_flag(wish("argument", "xla_no_such"), Target(()))
    assert told(nothing) == (["absent"], [], []) and "no jaxlib is known" in nothing.decisions[0].reason


@pytest.mark.parametrize(
    ("origin", "value", "answer"),
    [
        ("argument", "x", ([], [], [BadFlagValue])),
        ("existing", "x", (["dropped"], [("bad-flag-value", "error")], [])),
        ("request", "x", (["absent"], [("bad-flag-value", "warning")], [])),
        ("preset", "x", (["absent"], [("bad-flag-value", "warning")], [])),
    ],
)
def test_a_value_that_is_refused(origin: str, value: str, answer: object) -> None:
    outcome = left_out.refused(wish(origin, NEW, value), "It takes a number.", HERE)
    assert told(outcome) == answer
    for finding in outcome.findings:
        assert finding.message.startswith("It takes a number. It is left out: ")
        assert finding.hint == f"Correct it {'where XLA_FLAGS is set' if origin == 'existing' else f'in {origin} x'}."


def test_a_value_of_other_releases_that_a_preset_offers_is_left_out_without_a_word() -> None:
    """What somebody asked for is told all the same."""
    name, value = "xla_gpu_enable_command_buffer", "DYNAMIC_SLICE_FUSION"
    old = Target(("0.4.35",))
    assert old.is_taken_elsewhere(name, value)
    assert told(left_out.refused(wish("preset", name, value), "No.", old)) == (["absent"], [], [])
    assert len(left_out.refused(wish("request", name, value), "No.", old).findings) == 1


@pytest.mark.parametrize("origin", ["argument", "existing", "preset"])
def test_what_a_release_reads_by_chance_is_never_set(origin: str) -> None:
    outcome = left_out.undefined(wish(origin), HERE)
    if origin == "argument":
        assert (
            told(outcome) == ([], [], [BadFlagValue])
            and "undefined place in memory" in outcome.problems[0].finding.message
        )
    else:
        assert told(outcome) == (["dropped"], [("undefined-unrolling", "warning")], [])
        assert outcome.findings[0].message.startswith(f"--{OLD}=1 is left out: ")


@pytest.mark.parametrize(
    ("origin", "name", "end"),
    [
        ("existing", "jax_enable_x64", "JAX_ENABLE_X64: Wrong. `import jax` would raise; it is taken out."),
        ("existing", "jax_platforms", "JAX_PLATFORMS: Wrong. JAX would not start; it is taken out."),
        ("preset", "jax_enable_x64", "Wrong. It is left out; correct it in preset x."),
    ],
)
def test_an_option_that_cannot_be_read(origin: str, name: str, end: str) -> None:
    spec = option(name, None)
    assert spec is not None
    outcome = left_out.unreadable(wish(origin, name, "?", "jax_config"), spec, ValueError("Wrong."))
    assert told(outcome) == (["dropped"], [("bad-option-value", "error")], [])
    assert outcome.findings[0].message == end and outcome.decisions[0].reason == "Wrong."
    argument = left_out.unreadable(wish("argument", name, "?", "jax_config"), spec, ValueError("Wrong."))
    assert told(argument) == ([], [], [BadSetting]) and argument.problems[0].finding.message == "Wrong."


ABSENT = ("option-absent", "warning")


@pytest.mark.parametrize(
    ("origin", "name", "answer"),
    [
        ("argument", "jax_enable_x46", ([], [], [BadSetting])),
        ("preset", "jax_enable_x46", (["absent"], [("unknown-option", "warning")], [])),
        ("request", "jax_enable_x46", (["absent"], [("unknown-option", "warning"), ABSENT], [])),
        ("existing", "jax_enable_x46", (["absent"], [], [])),
        ("argument", "jax_spmd_mode", (["absent"], [ABSENT], [])),
        ("request", "jax_spmd_mode", (["absent"], [ABSENT], [])),
        ("preset", "jax_spmd_mode", (["absent"], [], [])),
        ("existing", "jax_spmd_mode", (["absent"], [], [])),
    ],
)
def test_an_option_that_this_jax_lacks(origin: str, name: str, answer: object) -> None:
    here = Target(("0.11.2",), jax_release="0.11.2")
    outcome = left_out.no_such_option(wish(origin, name, "1", "jax_config"), here)
    assert told(outcome) == answer
    nearest = [*outcome.findings, *(one.finding for one in outcome.problems)][:1]
    assert name == "jax_spmd_mode" or all(one.hint == "Did you mean jax_enable_x64?" for one in nearest)
    nowhere = left_out.no_such_option(wish(origin, name, "1", "jax_config"), Target(("0.11.2",)))
    assert told(nowhere) == (["absent"], [], []) and nowhere.decisions[0].reason == "no jax is known"
