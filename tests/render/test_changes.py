"""What changed between two releases as text: counted, each under its heading, one's own first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.release.changes import KINDS, FlagChange
from jaxgpu_tune.render.changes import COUNTED, HEADINGS, changes_text

CHANGES = st.lists(st.builds(FlagChange, st.sampled_from("abc"), st.sampled_from(KINDS), st.just("1"), st.just("2"), st.just(("It is new. Very.",))), unique=True)  # fmt: skip
RELEASES = ("0.4.0", "0.5.0")


@settings(max_examples=20)
@given(CHANGES, st.booleans(), st.sets(st.sampled_from("abc")))
def test_each_change_is_counted_and_listed_under_its_kind(changes: list[FlagChange], new: bool, own: set[str]) -> None:
    text = changes_text(changes, RELEASES, 999, own=own, new_too=new)
    if not changes:
        assert text == "Nothing changed from 0.4.0 to 0.5.0."
        return
    first, *lines = text.splitlines()
    kinds = [kind for kind in KINDS if any(change.change == kind for change in changes)]
    counts = {kind: sum(change.change == kind for change in changes) for kind in kinds}
    assert first == f"From jaxlib 0.4.0 to 0.5.0: {', '.join(f'{counts[kind]} {COUNTED[kind]}' for kind in kinds)}."
    listed = [kind for kind in kinds if new or kind != "appeared"]
    headings = [f"{HEADINGS[kind].format(new='0.5.0')} ({counts[kind]})" for kind in listed]
    assert [line for line in lines if line in headings] == headings
    mine = [change for change in changes if change.name in own]
    assert ("Of the flags that are set here:" in lines) is bool(own)
    assert ("  nothing changed" in lines) is (bool(own) and not mine)
    shown = sum(counts[kind] for kind in listed) + len(mine)
    assert sum(line.startswith("  --") for line in lines) == shown
    assert ("The new flags: --all" in lines) is (not new and "appeared" in kinds)
    told = [change for change in changes if change.change in listed] + mine
    assert sum(line.strip() == "It is new." for line in lines) == sum(c.change == "appeared" for c in told)
    assert sum(line.strip() == "It is new. Very." for line in lines) == sum(c.change != "appeared" for c in told)


def test_flags_to_look_at_and_none() -> None:
    assert changes_text((), RELEASES, only=()) == "There are no flags to look at: none are set."
    assert changes_text((), RELEASES, only={"a"}).endswith(" about these flags.")


@pytest.mark.parametrize(
    ("kind", "before", "after", "shown"),
    [
        ("values", "A", "", ": no longer A"),
        ("values", "", "B", ": now also B"),
        ("values", "A", "B", ": no longer A: now also B"),
        ("effect", "x", "", ": sets nothing any more"),
        ("effect", "", "y", ": sets y now"),
        ("default", "1", "2", ": 1 -> 2"),
        ("default", "", "2", ": (empty) -> 2"),
        ("vanished", "1", None, " = 1"),
        ("appeared", None, "2", " = 2"),
    ],
)
def test_what_it_was_and_became(kind: str, before: str | None, after: str | None, shown: str) -> None:
    assert f"  --flag{shown}" in changes_text([FlagChange("flag", kind, before, after, ())], RELEASES, 120).splitlines()
