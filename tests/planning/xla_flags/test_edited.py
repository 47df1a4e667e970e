"""What the user made of XLA_FLAGS after this library wrote it: whose each part is, and what was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.planning.xla_flags.edited import edited
from jaxgpu_tune.state import FlagsText

A, B, C, OURS, MORE = "--xla_a=1", "--xla_b='x y'", "--xla_c", "--xla_ours=1", "--xla_more=2"
TWO = FlagsText(f"{A} {B}", (A, B), (0, OURS, 1))
"""The user's two flags and one of ours between."""
REPLACED = FlagsText(f"{A} {OURS[:-1]}7", (A, f"{OURS[:-1]}7"), (0, OURS))
"""One of the user's gave way to ours."""


@pytest.mark.parametrize(
    ("flags", "now", "users", "changed"),
    [
        (TWO, f"{A} {OURS} {B}", f"{A} {B}", ()),
        (TWO, f"{C} {A} {OURS} {B}", f"{C} {A} {B}", ("--xla_c",)),
        (TWO, f"{A} {OURS} {B} {C}=3", f"{A} {B} {C}=3", ("--xla_c",)),
        (TWO, f"{A} {OURS} {B}--xla_c", f"{A} {B} --xla_c", ("--xla_c",)),
        (TWO, f"{A} {OURS} {B},--xla_c", f"{A} {B} ,--xla_c", ("--xla_c",)),
        (TWO, f"'{A} {OURS} {B}'", f"' {A} {B} '", ()),
        (TWO, f"{A} {OURS} {B} # why", f"{A} {B} # why", ()),
        (TWO, f"{OURS} {B} {A}", f"{B} {A}", ()),
        (TWO, f"{B} {C} {A} {OURS}", f"{B} {C} {A}", ("--xla_c",)),
        (TWO, f"{A} {B}", f"{A} {B}", ("--xla_ours",)),
        (TWO, f"{OURS} {B}", B, ("--xla_a",)),
        (TWO, f"{A} {OURS}", A, ("--xla_b",)),
        (TWO, "", "", ("--xla_a", "--xla_b", "--xla_ours")),
        (TWO, f"{A} {OURS}0 {B}", f"{A} {OURS}0 {B}", ("--xla_ours",)),
        (TWO, f"{A} --xla_ours=2 {B}", f"{A} --xla_ours=2 {B}", ("--xla_ours",)),
        (TWO, f"{A} {C} {OURS} {MORE} {B}", f"{A} {C} {MORE} {B}", ("--xla_c", "--xla_more")),
        (TWO, f"{A} {OURS} {B} {A}", f"{A} {B} {A}", ("--xla_a",)),
        (TWO, f"--xla_a=9 {A} {OURS} {B}", f"--xla_a=9 {A} {B}", ()),
        (TWO, f"{A} {OURS} {B} LEGACY_x=1 xla_New", f"{A} {B} LEGACY_x=1 xla_New", ("--legacy_x", "--xla_new")),
        (TWO, f"{A}0 {OURS} {B}", f"{A}0 {B}", ("--xla_a",)),
        (TWO, f"x{A} {OURS} {B}", f"x{A} {B}", ("--xla_a",)),
        (TWO, f"{A} {C} {OURS} --xla_b='x y' {MORE}", f"{A} {C} {B} {MORE}", ("--xla_c", "--xla_more")),
        (TWO, f"{A} {C} {OURS} --xla_b='x  y'", f"{A} {C} {B}", ("--xla_c",)),
        (TWO, f"{A} {C} {OURS} --xla_b='x new y'", f"{A} {C} --xla_b='x new y'", ("--xla_b", "--xla_c")),
        (REPLACED, f"{A} {OURS}", f"{A} --xla_ours=7", ()),
        (REPLACED, f"{OURS} {C}", f"--xla_ours=7 {C}", ("--xla_a", "--xla_c")),
        (REPLACED, f"{A} {C}", f"{A} {C}", ("--xla_c", "--xla_ours")),
        (REPLACED, f"{A} --xla_ours=8", f"{A} --xla_ours=8", ("--xla_ours",)),
        (FlagsText(A, (A,)), f"{A} {C}", f"{A} {C}", ("--xla_c",)),
        (FlagsText(None, (), (OURS,)), f"{OURS} {C}", C, ("--xla_c",)),
        (FlagsText(A, (A,), ()), C, f"{A} {C}", ("--xla_c",)),
        (FlagsText(f"{A} --xla_a=2", (A, "--xla_a=2"), ("--xla_a=3",)), "--xla_a=3", f"{A} --xla_a=2", ()),
    ],
)
def test_whose_each_part_is(flags: FlagsText, now: str, users: str, changed: tuple[str, ...]) -> None:
    assert edited(flags, now) == (users, changed)


PARTS = st.lists(st.sampled_from([A, B, C]), unique=True, min_size=1)
NEW = st.lists(st.sampled_from(["--xla_new=1", "--xla_new2='a b'", "stray"]), unique=True, max_size=2)


@given(PARTS, st.integers(0, 3), NEW, NEW)
def test_what_is_put_around_ours_is_the_users(own: list[str], at: int, before: list[str], behind: list[str]) -> None:
    """All of it and in its order; ours is out, and nothing of theirs is lost."""
    at = min(at, len(own))
    numbers = list(range(len(own)))
    flags = FlagsText(" ".join(own), tuple(own), (*numbers[:at], OURS, MORE, *numbers[at:]))
    text, changed = edited(flags, " ".join([*before, *(flags.texts), *behind]))
    assert text == " ".join([*before, *own, *behind])
    assert set(changed) == {word.partition("=")[0] for word in (*before, *behind) if word != "stray"}
