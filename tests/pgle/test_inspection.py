"""What of a program a profile knows, and what tells two profiles apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, Latency, is_communication
from jaxgpu_tune.pgle.inspection import CostChange, Match, Summary, match_findings, matched, profile_difference, summary
from jaxgpu_tune.pgle.program import Program, ScheduledInstruction

NAMES = ("fusion.1", "fusion.2", "all-gather-start", "all-reduce-start.1")
PROGRAM = Program(
    "jit_f",
    "f" * 32,
    (
        *(ScheduledInstruction(name, name, "fusion", "entry") for name in NAMES[:2]),
        ScheduledInstruction("all-gather.7", NAMES[2], "all-gather-start", "entry", wrapped="all-gather.9"),
        ScheduledInstruction(NAMES[3], NAMES[3], "all-reduce-start", "loop"),
        ScheduledInstruction("copy.1", "copy.1", "copy", "called"),
    ),
    frozenset({"entry", "loop"}),
)


def profile(*names: str, fingerprint: str = "") -> CostProfile:
    """One microsecond each."""
    return CostProfile(tuple(Cost(name, 1.0, fingerprint) for name in names))


def test_what_a_profile_knows_of_a_program() -> None:
    """By the scheduler's names, or by that of what a start wraps; what nothing asks for is unused."""
    assert PROGRAM.looked_up == set(NAMES)
    found = matched(profile("fusion.1", "all-gather.9", "copy.1", "gone"), PROGRAM)
    assert found == Match("jit_f", (NAMES[2], NAMES[0]), (NAMES[3], NAMES[1]), ("gone",))
    assert found.share == 0.5 and found.collectives == (NAMES[3],)
    assert matched(profile(*NAMES, fingerprint="f" * 32), PROGRAM) == Match("jit_f", tuple(sorted(NAMES)), (), ())
    other = matched(profile("fusion.1", fingerprint="0" * 32), PROGRAM)
    assert other.found == () and other.unused == (f"{'0' * 32}::fusion.1",) and other.share == 0.0
    assert NAMES[0] in matched(CostProfile(latencies=(Latency(NAMES[0], NAMES[1], 1.0),)), PROGRAM).found
    assert Match("empty", (), (), ()).share == 1.0


@pytest.mark.parametrize(
    ("known", "codes"),
    [
        (NAMES, []),
        (NAMES[1:], []),
        (NAMES[2:], []),
        (NAMES[3:], ["pgle-little-match", "pgle-collectives-missing"]),
        (NAMES[:3], ["pgle-collectives-missing"]),
    ],
)
def test_what_costs_speed_is_told(known: tuple[str, ...], codes: list[str]) -> None:
    """Less than half of what takes time, and collectives, of which XLA guesses."""
    mine = profile(*known)
    found = list(match_findings(matched(mine, PROGRAM), mine, PROGRAM))
    assert [(one.code, one.severity) for one in found] == [(code, "warning") for code in codes]
    told = " ".join(one.message for one in found)
    assert "pgle-little-match" not in codes or f"knows {len(known)} of the 4 instructions of jit_f" in told
    assert "pgle-collectives-missing" not in codes or "It lacks 1 collectives: all-" in told


def test_a_fingerprint_of_another_program_is_told_and_long_lists_end() -> None:
    mine = profile("fusion.1", fingerprint="0" * 32)
    first, *_ = match_findings(matched(mine, PROGRAM), mine, PROGRAM)
    assert first.code == "pgle-other-fingerprint" and f"{'0' * 32}, the program has {'f' * 32}" in first.message
    (first, *_) = match_findings(matched(mine, PROGRAM), mine, PROGRAM._replace(fingerprint=""))
    assert "the program has none" in first.message
    for count, more in ((8, ""), (9, ", …")):
        names = tuple(f"all-gather.{number}" for number in range(count))
        (finding,) = match_findings(Match("f", ("a",) * 99, names, ()), profile("a"), PROGRAM)
        assert (
            finding.message
            == f"It lacks {count} collectives: {', '.join(names[:8])}{more}. XLA guesses what they take."
        )


PROFILES = st.dictionaries(
    st.sampled_from(["fusion", "copy.1", "all-reduce", "send.2", "dot"]), st.floats(0, 100), max_size=5
).map(lambda costs: CostProfile(tuple(Cost(name, us) for name, us in costs.items())))


@given(PROFILES, PROFILES)
def test_what_tells_two_profiles_apart(one: CostProfile, two: CostProfile) -> None:
    """Each name is on one side only, or changed, or alike; the largest change comes first."""
    found = profile_difference(one, two)
    old, new = one.by_name, two.by_name
    assert set(found.only_before) == {*old} - {*new} and set(found.only_after) == {*new} - {*old}
    assert set(found.changes) == {CostChange(n, old[n], new[n]) for n in {*old} & {*new} if old[n] != new[n]}
    sizes = [abs(change.after - change.before) for change in found.changes]
    assert sizes == sorted(sizes, reverse=True)
    assert profile_difference(one, one) == ((), (), ())
    assert list(found.only_before) == sorted(found.only_before) and list(found.only_after) == sorted(found.only_after)


@given(PROFILES, st.integers(0, 3))
def test_a_profile_in_numbers(mine: CostProfile, longest: int) -> None:
    found = summary(mine, longest)
    talking = {name: us for name, us in mine.by_name.items() if is_communication(name)}
    assert (found.entries, found.communicating) == (len(mine.costs), len(talking))
    assert found.computing + found.communicating == len(mine.by_name)
    assert found.communicating_us == pytest.approx(sum(talking.values()))
    assert found.computing_us + found.communicating_us == pytest.approx(sum(mine.by_name.values()))
    ordered = sorted(mine.by_name.items(), key=lambda item: (-item[1], item[0]))
    assert found.longest == tuple(ordered[:longest]) and found.fingerprints == ()


def test_an_instruction_that_is_named_twice_counts_once() -> None:
    twice = CostProfile((Cost("a", 1.0), Cost("a", 2.0, "0" * 32), Cost("send", 3.0)))
    assert summary(twice) == Summary(3, 1, 2.0, 1, 3.0, ("0" * 32,), (("send", 3.0), ("a", 2.0)))
