"""Laws of merging, on random flags of the installed release: inherited, asked for, and from a preset."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune import detect, plan
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.flag_spec import FlagSpec
from jaxgpu_tune.planning.release.target import target_of
from jaxgpu_tune.planning.xla_flags.grammar import quote, scan
from tests.effects import meaning
from tests.flag_texts import render
from tests.fleet import machine
from tests.oracle import Oracle
from tools.read_flags.texts import random_text

RELEASE = known.resolve(str(detect().jaxlib)).release
TARGET = target_of(machine(jaxlib=RELEASE))
NAMES = sorted(known.flags(RELEASE))
PRESETS = ("fsdp", "simulation", "decode", "dreamerv3", "jax-toolbox", "debug")


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


def good_flags(seed: int, most: int) -> list[tuple[str, str]]:
    """Random flags with values that the release takes; names come again now and then."""
    chooser = random.Random(seed)
    found = []
    for _ in range(chooser.randrange(most + 1)):
        spec = known.flag(chooser.choice(NAMES), RELEASE)
        assert spec is not None
        text = random_text(spec, chooser)
        if not spec.undefined and TARGET.refusal(spec.name, text) is None:
            found.append((spec.name, text))
    return found


inherited = st.builds(good_flags, st.integers(0, 10**9), st.just(6))
asked = st.builds(good_flags, st.integers(0, 10**9), st.just(4)).map(dict)


@settings(max_examples=60, deadline=None)
@given(inherited, asked, st.sampled_from(PRESETS), st.sampled_from(["existing", "preset"]))
def test_the_result_is_always_accepted_and_a_fixed_point(
    oracle: Oracle, before: list[tuple[str, str]], wanted: dict[str, str], preset: str, prefer: str
) -> None:
    request = {"machine": machine(jaxlib=RELEASE), "flags": wanted, "prefer": prefer}
    first = plan(preset, environ={"XLA_FLAGS": render(before)}, **request)
    (answer,) = oracle.ask([first.xla_flags])
    assert answer.accepted, answer.message
    again = plan(preset, environ={"XLA_FLAGS": first.xla_flags}, **request)
    assert again.xla_flags == first.xla_flags


@settings(max_examples=60, deadline=None)
@given(inherited, asked)
def test_every_setting_has_exactly_one_decision_and_every_emitted_flag_one(
    before: list[tuple[str, str]], wanted: dict[str, str]
) -> None:
    report = plan("fsdp", machine=machine(jaxlib=RELEASE), environ={"XLA_FLAGS": render(before)}, flags=wanted)
    keys = [(d.kind, d.name) for d in report.decisions]
    assert len(keys) == len(set(keys))
    decided = {name for kind, name in keys if kind == "xla_flag"}
    assert {name for name, _ in before} | set(wanted) <= decided
    emitted = {token.name for token in scan(report.xla_flags).tokens}
    assert emitted == {
        d.name for d in report.decisions if d.kind == "xla_flag" and d.status in ("set", "kept", "merged")
    }


@settings(max_examples=60, deadline=None)
@given(inherited)
def test_without_anything_asked_the_effect_is_what_the_user_wrote(
    oracle: Oracle, before: list[tuple[str, str]]
) -> None:
    text = render(before)
    report = plan("single_gpu", machine=machine(count=1, jaxlib=RELEASE), environ={"XLA_FLAGS": text})
    original, final = oracle.ask([text, report.xla_flags])
    assert meaning(final.effect) == meaning(original.effect)


WRITERS = [
    [other for other in known.flags(RELEASE).values() if set(other.fields) & set(spec.fields)]
    for spec in known.flags(RELEASE).values()
    if spec.form == "list" and spec.incremental
]
"""For each list that takes +X all the flags that write its field."""


@pytest.mark.skipif(not WRITERS, reason="no list of this release takes +X")
@settings(max_examples=75, deadline=None)
@given(st.sampled_from(WRITERS or [[]]), st.integers(0, 10**9), st.integers(2, 5), st.booleans())
def test_what_plus_and_minus_change_is_what_stands_before_them(
    oracle: Oracle, writers: list[FlagSpec], seed: int, count: int, argument: bool
) -> None:
    """Lists given several times in XLA_FLAGS, the last one perhaps as an argument: what XLA itself makes of them.

    What is set already stays as it is, also where XLA makes the first of several changes only (before 0.7.0); an argument's
    changes are all made. An argument is the last one only where no flag of another name writes the list, since it wins over that.
    """
    chooser = random.Random(seed)
    drawn = [(spec, random_text(spec, chooser)) for spec in chooser.choices(writers, k=count)]
    given_flags = [(spec, text) for spec, text in drawn if not TARGET.refusal(spec.name, text)]
    changes = given_flags[-1:] and given_flags[-1][1][:1] in ("+", "-")
    one_name = len({spec.name for spec, _ in given_flags}) == 1
    asked_for = [given_flags[-1]] if argument and changes and one_name else []
    already = given_flags[: len(given_flags) - len(asked_for)]
    report = plan(
        "single_gpu",
        machine=machine(count=1, jaxlib=RELEASE),
        environ={"XLA_FLAGS": render([(spec.name, text) for spec, text in already])},
        flags={spec.name: text for spec, text in asked_for},
    )
    as_it_stands = [(spec.name, text) for spec, text in already]
    apart = [*as_it_stands, *((spec.name, part) for spec, text in asked_for for part in one_change_each(spec, text))]
    original, final = oracle.ask([render(apart), report.xla_flags])
    assert meaning(final.effect) == meaning(original.effect), (render(apart), report.xla_flags)


def one_change_each(spec: FlagSpec, text: str) -> list[str]:
    """``+A,-B`` as two texts, where XLA stops after the first change."""
    return text.split(",") if spec.first_only and text[:1] in ("+", "-") else [text]


@settings(max_examples=30, deadline=None)
@given(asked, st.randoms())
def test_the_order_of_arguments_does_not_matter_where_they_are_of_different_fields(
    wanted: dict[str, str], chooser: random.Random
) -> None:
    fields: set[str] = set()
    apart = {}
    for name, value in wanted.items():
        spec = known.flag(name, RELEASE)
        assert spec is not None
        if not fields & set(spec.fields):
            apart[name] = value
            fields |= set(spec.fields)
    shuffled = list(apart.items())
    chooser.shuffle(shuffled)
    one = plan("single_gpu", machine=machine(count=1, jaxlib=RELEASE), environ={}, flags=apart)
    two = plan("single_gpu", machine=machine(count=1, jaxlib=RELEASE), environ={}, flags=dict(shuffled))
    assert one.xla_flags == two.xla_flags


@settings(max_examples=50, deadline=None)
@given(asked)
def test_what_is_asked_for_takes_effect(oracle: Oracle, wanted: dict[str, str]) -> None:
    report = plan("single_gpu", machine=machine(count=1, jaxlib=RELEASE), environ={}, flags=wanted)
    one_each = {d.name for d in report.decisions if d.status in ("set", "default")}
    kept = [(name, value) for name, value in wanted.items() if name in one_each]
    final, plain = oracle.ask([report.xla_flags, " ".join(quote(name, value) for name, value in kept)])
    assert final.accepted and plain.accepted
    assert meaning(final.effect) == meaning(plain.effect)
