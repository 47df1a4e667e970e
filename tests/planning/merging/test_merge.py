"""Who wins where several ask for the same thing, and what is said about the loser."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.flag_values import on_top
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.merging.merge import merge
from jaxgpu_tune.planning.release.target import Target
from tests.fleet import codes, decision, machine

LEVEL = "xla_gpu_autotune_level"
LEVELS = st.integers(0, 4)
DEFAULT = 4


def planned(inherited: list[int], asked: int | None, prefer: str = "existing") -> object:
    """A plan where XLA_FLAGS gives one flag several times and perhaps an argument asks for it."""
    text = " ".join(f"--{LEVEL}={level}" for level in inherited)
    flags = {} if asked is None else {LEVEL: asked}
    return plan("single_gpu", machine=machine(count=1), environ={"XLA_FLAGS": text}, flags=flags, prefer=prefer)


@given(st.lists(LEVELS, min_size=1, max_size=3), LEVELS, st.sampled_from(["existing", "preset"]))
def test_an_argument_wins_however_often_the_flag_is_set(inherited: list[int], asked: int, prefer: str) -> None:
    """XLA takes the last occurrence: an argument that equals an earlier one is no repetition of what holds."""
    report = planned(inherited, asked, prefer)
    stays = asked != DEFAULT or inherited[-1] == asked
    assert report.xla_flags == (f"--{LEVEL}={asked}" if stays else "")
    assert ("overruled" in codes(report)) is (inherited[-1] != asked)


@given(st.lists(LEVELS, min_size=2, max_size=3))
def test_a_repeated_flag_is_told_where_it_says_something_else(inherited: list[int]) -> None:
    """The last one alone is kept; the same again needs no word."""
    report = planned(inherited, None)
    assert report.xla_flags == f"--{LEVEL}={inherited[-1]}"
    others = [f for f in report.findings if f.code == "repeated-flag"]
    assert len(others) == len({*inherited} - {inherited[-1]}) and {one.severity for one in others} <= {"note"}
    assert decision(report, LEVEL).status == "kept"


@pytest.mark.parametrize(("prefer", "level", "status"), [("existing", "1", "kept"), ("preset", "3", "set")])
def test_what_is_set_already_and_a_preset_change_places(prefer: str, level: str, status: str, tmp_path: object) -> None:
    """The loser is named with its value in either order."""
    path = tmp_path / "mine.toml"
    path.write_text(f'[[set]]\nflag = "{LEVEL}"\nvalue = 3\nreason = "compiles faster"\n')
    report = plan(str(path), machine=machine(count=1), environ={"XLA_FLAGS": f"--{LEVEL}=1"}, prefer=prefer)
    assert report.xla_flags == f"--{LEVEL}={level}"
    found = decision(report, LEVEL)
    loser = {"1": "3", "3": "1"}[level]
    assert found.status == status and f"{LEVEL}={loser}" in found.reason


GRAPHS = "xla_gpu_enable_command_buffer"
SPEC = known.flags("0.11.2")[GRAPHS]
CHANGES = st.tuples(st.sampled_from("+-"), st.sampled_from(("FUSION", "CUBLAS", "WHILE", "CONDITIONAL")))


@given(st.lists(CHANGES, min_size=1, max_size=4))
def test_changes_to_a_list_that_are_set_already_stay_as_they_are_written(changes: list[tuple[str, str]]) -> None:
    """One after the other, since each changes what the one before it left; what they leave is the decision's value."""
    texts = [f"--{GRAPHS}={sign}{member}" for sign, member in changes]
    report = plan("single_gpu", machine=machine(count=1), environ={"XLA_FLAGS": " ".join(texts)})
    left = {member.strip() for member in SPEC.effective.split(",")}
    for sign, member in changes:
        left = left | {member} if sign == "+" else left - {member}
    assert report.xla_flags.split()[-1] == texts[-1] and set(report.xla_flags.split()) <= set(texts)
    assert meant(report.xla_flags) == left
    notes = [one for one in report.findings if one.code == "repeated-flag"]
    assert bool(notes) is (len(changes) > 1) and {one.severity for one in notes} <= {"note"}


@pytest.mark.parametrize(
    ("asked", "left", "told"),
    [("-FUSION", "CUBLAS", []), ("-FUSION,-CUBLAS", "", ["overruled"]), ("", "", ["overruled"])],
)
def test_a_list_of_which_nothing_is_left_is_lost_however_it_is_emptied(asked: str, left: str, told: list[str]) -> None:
    """Member by member as well as at once; one of which something is left is changed, as the decision says."""
    environ = {"XLA_FLAGS": f"--{GRAPHS}=FUSION,CUBLAS"}
    report = plan("single_gpu", machine=machine(count=1), environ=environ, flags={GRAPHS: asked})
    assert report.xla_flags == f"--{GRAPHS}={left}" and f"{GRAPHS}=FUSION,CUBLAS" in decision(report, GRAPHS).reason
    assert [one.code for one in report.findings if one.code == "overruled"] == told


@pytest.mark.parametrize("inherited", ["a,b", ""])
def test_who_asks_for_an_empty_list_that_adds_up_has_none(inherited: str) -> None:
    """An empty member more would empty nothing."""
    environ = {"XLA_FLAGS": f"--xla_disable_hlo_passes={inherited}"} if inherited else {}
    report = plan("single_gpu", machine=machine(count=1), environ=environ, flags={"xla_disable_hlo_passes": ""})
    found = decision(report, "xla_disable_hlo_passes")
    assert (report.xla_flags, found.value, found.status) == ("", None, "removed") and inherited in found.reason


def meant(text: str) -> set[str]:
    """The members that the flags of a text leave, one after the other."""
    found = SPEC.effective
    for word in text.split():
        found = on_top(SPEC, found, word.partition("=")[2])
    return {member.strip() for member in found.split(",")}


def wish(origin: str, value: str | None, name: str = "NCCL_ALGO", kind: str = "env") -> Wish:
    """Of one who wants a variable."""
    return Wish(kind, name, value, origin, f"reason of {origin}", f"source of {origin}")  # type: ignore[arg-type]


OVERRULED, HOLDS = [("overruled", "warning")], [("request-holds", "note")]


@pytest.mark.parametrize(
    ("group", "prefer", "value", "status", "told"),
    [
        ("argument:a", "existing", "a", "set", []),
        ("existing:a", "existing", "a", "kept", []),
        ("existing:a argument:b", "existing", "b", "set", OVERRULED),
        ("existing:a argument:a", "existing", "a", "kept", []),
        ("existing:a request:b", "existing", "b", "set", HOLDS),
        ("existing:a preset:b", "existing", "a", "kept", [("preset-yields", "note")]),
        ("existing:a preset:b", "preset", "b", "set", OVERRULED),
        ("request:a argument:b", "existing", "b", "set", OVERRULED),
        ("request:a argument:a", "existing", "a", "set", []),
        ("request:a preset:b", "existing", "a", "set", []),
        ("preset:a argument:b", "existing", "b", "set", []),
        ("existing:a argument:-", "existing", None, "removed", []),
        ("request:a argument:-", "existing", None, "removed", OVERRULED),
        ("preset:a argument:-", "existing", None, "removed", []),
    ],
)
def test_who_wins_and_who_is_told(group: str, prefer: Any, value: str | None, status: str, told: list[Any]) -> None:
    """Arguments, then what earlier calls asked for, then what is set and the preset, in either order; that a preset gives way is a note."""
    wishes = [
        wish(origin, None if text == "-" else text) for origin, _, text in (one.partition(":") for one in group.split())
    ]
    found = merge(tuple(wishes), Target(("0.11.2",)), prefer)
    (decision,) = found.decisions
    assert (decision.value, decision.status) == (value, status)
    assert [(one.code, one.severity) for one in found.findings] == told
    assert [one.value for one in found.wishes] == ([value] if value or "existing" in group else [])
    losers = [one for one in wishes if one.value not in (value, None)]
    named = " ".join((decision.reason, *(one.message for one in found.findings)))
    assert status == "removed" or all(f"NCCL_ALGO={one.value}" in named for one in losers)
    assert status != "removed" or decision.reason == (
        f"asked for by source of argument; it was {'NCCL_ALGO=a' if 'existing' in group else 'not set'}"
    )
