"""Which texts of a variable take the place of others."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.flow import FlowEvent, replaced_in
from jaxgpu_tune.planning.files.mapped import HOLE

KINDS = {"(": "opens", "[": "apart", "|": "or", ")": "closes", "]": "closes", "!": "reads"}


def lost(flow: str) -> list[str]:
    """What is lost, of a flow with a letter for each text that is set."""
    events = [
        FlowEvent(at, KINDS.get(mark, "sets"), "" if mark == "_" else f"--xla_{mark.lower()}=1", keeps=mark.isupper())
        for at, mark in enumerate(flow)
    ]
    return [f"{flow[before.at]}{flow[again.at]}" for again, before, _ in replaced_in(events)]


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        ("a", []),
        ("ab", ["ab"]),
        ("abc", ["ab", "bc"]),
        ("aa", []),
        ("aB", []),
        ("aBc", ["ac", "Bc"]),
        ("a!b", []),
        ("a_b", []),
        ("(a|b)", []),
        ("(a|b)c", ["ac", "bc"]),
        ("a(b|)", []),
        ("a(b|)c", ["ac", "bc"]),
        ("a(bc)", ["bc"]),
        ("(a(b|c)d|e)f", ["ad", "bd", "cd", "df", "ef"]),
        ("a(!|)b", []),
        ("a((!))b", []),
        ("a[!]b", ["ab"]),
        ("a[(!)]b", ["ab"]),
        ("[a(!)b]", []),
        ("[a]b", []),
        ("a[b]c", ["ac"]),
        ("[ab]", ["ab"]),
        ("a)b", []),
    ],
)
def test_what_comes_next_on_the_same_way_takes_its_place(flow: str, told: list[str]) -> None:
    """A capital keeps what was there, and an empty text is meant to. What is closed and was never opened ends all."""
    assert lost(flow) == told


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        (f"{HOLE} --xla_b=1", True),
        (f"--xla_b=1{HOLE}", True),
        (f"--xla_b=1 {HOLE}", True),
        (f"--xla_b={HOLE}", False),
        (f"--xla_b=/x/{HOLE}/y", False),
    ],
)
def test_a_part_that_is_not_known_may_be_what_was_there(text: str, keeps: bool) -> None:
    found = list(replaced_in([FlowEvent(0, "sets", "--xla_a=1 --xla_c"), FlowEvent(1, "sets", text)]))
    assert [flags for _, _, flags in found] == ([] if keeps else ["--xla_a=1 --xla_c"])


def test_a_flag_that_is_set_again_is_not_lost() -> None:
    """It would be the last one that counts if both were kept."""
    found = list(replaced_in([FlowEvent(0, "sets", f"--xla_a=1 --xla_b={HOLE}"), FlowEvent(1, "sets", "--xla_a=2")]))
    assert [flags for _, _, flags in found] == ["--xla_b=…"]
