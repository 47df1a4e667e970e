"""Who wins where several ask for the same thing, and what is said about the loser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import plan
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
    assert len(others) == len({*inherited} - {inherited[-1]})
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
