"""Lists that XLA adds up: what is inherited and what is wished as one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.base.wish import Outcome, Wish
from jaxgpu_tune.planning.merging.joined import join
from jaxgpu_tune.planning.release.target import Target

HERE = Target(("0.11.2",))
LIST, MAP, REPEATED = "xla_disable_hlo_passes", "xla_backend_extra_options", "xla_gpu_ptx_file"
MEMBERS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)


def joined(name: str, *wished: tuple[str, str | None]) -> Outcome:
    """(origin, value) of each occurrence."""
    wishes = [Wish("xla_flag", name, value, origin, "", f"by {origin}") for origin, value in wished]  # type: ignore[arg-type]
    return join(wishes, HERE)


@settings(max_examples=20)
@given(MEMBERS, MEMBERS, MEMBERS)
def test_inherited_members_come_first_and_each_of_ours_once(before: list[str], one: list[str], two: list[str]) -> None:
    """In their order; the decision names every part."""
    texts = [",".join(members) for members in (before, one, two)]
    found = joined(LIST, *zip(("existing", "preset", "argument"), texts, strict=True))
    ((wish,), (decision,)) = found.wishes, found.decisions
    assert wish.value.split(",") == list(dict.fromkeys([*before, *one, *two]))
    if {*one, *two} <= {*before}:
        assert decision.status == "kept" and wish.value == texts[0]
    else:
        assert decision.status == "merged" and decision.value == wish.value
        assert all(
            f"{text!r} (by {origin})" in decision.reason
            for text, origin in zip(texts, ("existing", "preset", "argument"), strict=True)
        )


def test_in_a_map_the_last_value_of_a_key_stands() -> None:
    """At the place of the first."""
    assert joined(MAP, ("existing", "a=1,b=2"), ("argument", "a=3,c=4")).wishes[0].value == "a=3,b=2,c=4"


def test_what_takes_one_member_an_occurrence_is_given_several_times() -> None:
    """The same again is given once."""
    found = joined(REPEATED, ("existing", "x"), ("existing", "y"), ("argument", "x"), ("argument", "z"))
    assert [wish.value for wish in found.wishes] == ["x", "y", "z"]
    assert found.decisions[0].value == "x y z" and found.decisions[0].status == "merged"


@pytest.mark.parametrize(
    ("wished", "status"),
    [([("existing", "a"), ("existing", "b")], "kept"), ([("preset", "a"), ("argument", "b")], "set")],
)
def test_of_one_side_alone_nothing_is_merged(wished: list[tuple[str, str]], status: str) -> None:
    found = joined(LIST, *wished)
    assert (found.wishes[0].value, found.decisions[0].status) == ("a,b", status)


def test_a_removal_removes_nothing_that_another_wishes() -> None:
    """It is no member."""
    assert joined(LIST, ("existing", "a"), ("argument", None)).wishes[0].value == "a"
