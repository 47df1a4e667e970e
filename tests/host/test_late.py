"""What comes too late once the backend has started: what is planned and not in force, whose it is, and what an earlier call put there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import Report, plan
from jaxgpu_tune.host import late as late_module
from jaxgpu_tune.host.late import Late, late_finding, or_else, too_late, without
from tests.child import clean_environ
from tests.fleet import decision, machine

LEVEL, DUMP = "xla_gpu_autotune_level", "NCCL_DEBUG"
LEVELS = st.sampled_from([None, 1, 2])
WORDS = st.sampled_from([None, "INFO", "WARN"])


@pytest.fixture(autouse=True, scope="module")
def _plain() -> Iterator[None]:
    """An environment without anything that the library reads."""
    with pytest.MonkeyPatch.context() as here:
        import os

        for name in set(os.environ) - set(clean_environ()):
            here.delenv(name)
        yield


def planned(level: int | None, word: str | None) -> tuple[Report, dict[str, str]]:
    """A plan that asks for a flag and a variable, and the variables as they would be."""
    asked: dict[str, Any] = {"flags": {LEVEL: level}} if level else {}
    asked |= {"env": {DUMP: word}} if word else {}
    report = plan("auto", machine=machine(count=1), environ={}, **asked)
    return report, {name: value for name, value in report.environ.items() if value is not None}


def shown(level: int | None, word: str | None) -> dict[str, Any]:
    """What those two say, by the names that are told."""
    return {name: value for name, value in ((f"--{LEVEL}", level), (DUMP, word)) if value is not None}


@given(LEVELS, WORDS, LEVELS, WORDS, st.booleans())
def test_what_is_planned_and_not_in_force_is_late(level: Any, word: Any, was: Any, said: Any, first: bool) -> None:
    """All of it is the first call's own; of a later one what it asks for or changes; and what is undone is what was in force before it."""
    report, final = planned(level, word)
    before, in_force = planned(was, said)
    with pytest.MonkeyPatch.context() as here:
        for name, value in in_force.items():
            here.setenv(name, value)
        found = too_late(report, final, None if first else before, in_force, named=False)
    wanted, now = shown(level, word), shown(was, said)
    # A variable that nobody asks for here is not this library's to judge.
    differ = {name for name in {*wanted, *now} if wanted.get(name) != now.get(name)}
    behind = {name for name in differ if name != DUMP or DUMP in wanted}
    assert set(found.names) == behind and list(found.names) == sorted(found.names)
    assert set(found.own) == behind
    assert set(found.undone) == (set() if first else behind & set(now))


def test_what_another_call_wants_is_not_this_ones_own() -> None:
    """It is late, and this call neither asks for it nor changes it."""
    report, final = planned(1, None)
    same = report._replace(
        decisions=tuple(d._replace(source="an earlier call", origin="request") for d in report.decisions)
    )
    found = too_late(same, final, report, final, named=False)
    assert found == Late((f"--{LEVEL}",), (), ())
    of_preset = report._replace(
        decisions=tuple(d._replace(source="preset x", origin="preset") for d in report.decisions)
    )
    assert too_late(of_preset, final, report, final, named=False).own == ()
    assert too_late(of_preset, final, report, final, named=True).own == (f"--{LEVEL}",)


def test_the_plan_without_what_comes_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in force stays; decisions say so, and the finding names what an earlier call put there."""
    monkeypatch.setenv("XLA_FLAGS", f"--{LEVEL}=1")
    report, _ = planned(2, "INFO")
    late = Late((f"--{LEVEL}", DUMP), (f"--{LEVEL}",), (f"--{LEVEL}",))
    left = without(report, late, " (by hand)")
    assert left.xla_flags == f"--{LEVEL}=1" == left.environ["XLA_FLAGS"] and left.environ[DUMP] is None
    assert decision(left, LEVEL).status == decision(left, DUMP).status == "late"
    assert "JAX's backend has already started" in decision(left, LEVEL).reason
    (found,) = [one for one in left.findings if one.code == "too-late"]
    assert found.severity == "warning"
    assert f"An earlier call has put --{LEVEL} in force (by hand); this one" in found.message
    assert "too-late" not in {one.code for one in without(report, late._replace(own=()), "").findings}
    assert "An earlier call" not in late_finding(late._replace(undone=()), "").message
    assert late_finding(late, "", "; or else").hint.endswith("; or else.")


@pytest.mark.parametrize(("why_not", "offered"), [("pytest runs this process", False), ("", True)])
def test_to_start_again_is_offered_where_it_is_not_refused(
    why_not: str, offered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_module, "why_not_again", lambda: why_not)
    assert "late='warn'" in or_else() and ("late='reexec'" in or_else()) is offered
