"""The plan as text, variables and options: by wishes and decisions that are given."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.model import Decision, Finding
from jaxgpu_tune.planning.base.wish import Repaired, Wish
from jaxgpu_tune.planning.merging import assemble
from jaxgpu_tune.planning.settings.setting_names import GUARD_OPTIONS
from jaxgpu_tune.planning.xla_flags.grammar import scan

JAX = "0.11.2"
X64, PGLE = "jax_enable_x64", "jax_enable_pgle"


def wish(kind: str, name: str, value: Any, origin: str = "argument", **more: Any) -> Wish:
    """One wish."""
    return Wish(kind, name, value, origin, "because", "argument x", **more)  # type: ignore[arg-type]


def decided(kind: str, name: str, value: str | None, status: str, origin: str = "argument") -> Decision:
    """One decision."""
    return Decision(kind, name, value, status, "because", "argument x", origin)  # type: ignore[arg-type]


def test_a_text_to_which_nothing_changes_stays_to_the_letter() -> None:
    """In whatever order its flags come out; once one is added, or something was mended, it is written anew."""
    original = " --xla_b=1   --xla_a='x y' "
    inherited = Repaired(scan(original).tokens)
    same = [wish("xla_flag", "xla_a", "x y", text="--xla_a='x y'"), wish("xla_flag", "xla_b", "1", text="--xla_b=1")]
    assert assemble.flags_text([*same, wish("env", "A", "1")], inherited, original) == original
    more = [*same, wish("xla_flag", "xla_c", "a b"), wish("xla_flag", "xla_d", None)]
    assert assemble.flags_text(more, inherited, original) == "--xla_a='x y' --xla_b=1 --xla_c=\"a b\""
    mended = inherited._replace(findings=(Finding("x", "note", "x"),))
    assert assemble.flags_text(same, mended, original) == "--xla_a='x y' --xla_b=1"
    assert assemble.flags_text([], inherited, original) == ""


def test_options_that_are_changed() -> None:
    """Set or removed, or translated; of a live jax also what was taken out."""
    wishes = [
        wish("jax_config", "a", True),
        wish("jax_config", "b", None),
        wish("jax_config", "c", 3, "existing"),
        wish("jax_config", "d", 4, "existing", translated=True),
        wish("env", "E", "1"),
    ]
    decisions = [
        decided("jax_config", "a", "true", "set"),
        decided("jax_config", "b", None, "removed"),
        decided("jax_config", "c", "3", "kept"),
        decided("jax_config", "gone", None, "dropped", "existing"),
        decided("jax_config", "else", None, "dropped", "existing"),
        decided("jax_config", "mine", None, "dropped"),
        decided("env", "E", "1", "set"),
    ]
    assert assemble.option_values(wishes, decisions, ["gone", "mine"]) == {"gone": None, "a": True, "b": None, "d": 4}


def test_variables_that_change() -> None:
    """What is there already is left out; what was dropped is removed, an option by its variable."""
    wishes = [wish("env", "NEW", "1"), wish("env", "SAME", "2"), wish("env", "GONE", None)]
    decisions = [
        decided("env", "BAD", None, "dropped"),
        decided("jax_config", "jax_bad", None, "dropped"),
        decided("xla_flag", "xla_bad", None, "dropped"),
        decided("env", "NEW", None, "dropped"),
        decided("env", "UNMET", None, "unmet"),
    ]
    environ = {"SAME": "2", "GONE": "x", "BAD": "x", "JAX_BAD": "x", "XLA_FLAGS": "--xla_a=1", "JAX_ENABLE_PGLE": "1"}
    made = assemble.environ_changes(wishes, decisions, "--xla_a=1", {X64: True, PGLE: None, "no_such": 1}, environ, JAX)
    assert made == {
        "BAD": None,
        "GONE": None,
        "JAX_BAD": None,
        "JAX_ENABLE_PGLE": None,
        "JAX_ENABLE_X64": "true",
        "NEW": "1",
        "XLA_FLAGS": "--xla_a=1",
    }
    assert list(made) == sorted(made)
    assert assemble.environ_changes([], [], "", {}, {"XLA_FLAGS": " "}, JAX) == {"XLA_FLAGS": None}
    assert assemble.environ_changes([], [], "", {}, {}, JAX) == {}
    assert assemble.environ_changes([wish("env", "A", None)], [], "", {}, {}, JAX) == {}


@pytest.mark.parametrize(
    ("levels", "umbrella"),
    [(("log",) * 3, "log"), (("log", "log", "allow"), None), (("log",), None), ((None,) * 3, None), ((), None)],
)
def test_three_equal_transfer_guards_are_the_umbrella(levels: tuple[str | None, ...], umbrella: str | None) -> None:
    """jax overwrites theirs with it when it is imported, so nothing else of them reaches a child."""
    changed = dict(zip(GUARD_OPTIONS, levels, strict=False))
    made = assemble.environ_changes([], [], "", changed, {}, JAX)
    assert made.get("JAX_TRANSFER_GUARD") == umbrella
    assert assemble.by_variable({**changed, X64: True}, JAX) == {X64, *(GUARD_OPTIONS if umbrella else ())}


def test_what_no_variable_carries_reaches_this_process_alone() -> None:
    guard = wish("jax_config", GUARD_OPTIONS[0], "log")
    others = (
        wish("jax_config", X64, True),
        wish("env", "A", "1"),
        guard._replace(name=GUARD_OPTIONS[1], origin="existing"),
    )
    live = assemble.carried((guard, *others), JAX, live=True)
    assert live.wishes == (guard, *others) and live.decisions == ()
    assert [(one.code, one.severity) for one in live.findings] == [("option-without-variable", "note")]
    later = assemble.carried((guard, *others), JAX, live=False)
    assert later.wishes == others
    assert [(one.name, one.status) for one in later.decisions] == [(GUARD_OPTIONS[0], "unmet")]
    (finding,) = later.findings
    assert finding.severity == "warning" and f"jax.config.update('{GUARD_OPTIONS[0]}', 'log')" in finding.hint
    for alive in (True, False):
        assert assemble.carried(others, JAX, live=alive) == assemble.carried(others, JAX, live=True)
        assert assemble.carried(others, JAX, live=alive).findings == ()


def test_of_several_decisions_the_one_in_force_counts() -> None:
    """By kind, then by name."""
    weak = [decided("env", "B", None, status) for status in ("unmet", "absent", "dropped", "translated")]
    strong = decided("env", "B", "1", "set")
    for one in weak:
        assert assemble.ordered([one, strong]) == assemble.ordered([strong, one]) == (strong,)
    assert assemble.ordered([strong, strong._replace(status="kept")]) == (strong,)
    names = [("jax_config", "a"), ("env", "z"), ("xla_flag", "m"), ("env", "b"), ("xla_flag", "a")]
    found = assemble.ordered(decided(kind, name, "1", "set") for kind, name in names)
    assert [one.name for one in found] == ["a", "m", "b", "z", "a"]
    assert [one.kind for one in found] == ["xla_flag", "xla_flag", "env", "env", "jax_config"]
