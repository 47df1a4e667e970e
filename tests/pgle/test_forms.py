"""The two forms of a profile, checked by laws and by XLA's own reader and printer inside jaxlib."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle import profile_files
from jaxgpu_tune.pgle.binary_form import parse_binary, print_binary
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, Latency, merged, xla_percentile
from jaxgpu_tune.pgle.text_form import parse_text, print_text
from tests.effort import examples

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: "::" not in name)
MICROSECONDS = st.floats(0, 1e12)
BOUND = st.one_of(st.just(""), st.from_regex(r"[0-9a-f]{32}", fullmatch=True))
PROFILES = st.builds(
    CostProfile,
    st.lists(st.builds(Cost, NAMES, MICROSECONDS, BOUND), max_size=6).map(tuple),
    st.lists(st.builds(Latency, NAMES, NAMES, MICROSECONDS), max_size=3).map(tuple),
)


@settings(max_examples=examples(40), deadline=None)
@given(PROFILES)
def test_both_forms_keep_everything(profile: CostProfile) -> None:
    assert parse_text(print_text(profile)) == profile
    assert parse_binary(print_binary(profile)) == profile


@settings(max_examples=examples(40), deadline=None)
@given(PROFILES)
def test_the_digest_is_of_the_entries_not_of_their_order(profile: CostProfile) -> None:
    turned = CostProfile(profile.costs[::-1], profile.latencies[::-1])
    assert turned.digest == profile.digest
    assert profile._replace(costs=(*profile.costs, Cost("one more", 1.0))).digest != profile.digest


def test_the_text_form_is_read_as_protocol_buffers_text_is() -> None:
    text = r"""
    # a comment
    costs: < name: 'all-gather' "-start.1", cost_us: 7040.5215; >
    costs [{ name: "a\"b\n\303\251\x41" cost_us: 1e3f }, {name:"c" cost_us:.5}]
    latencies { source: "a" target: "b" latency_us: 3 }
    costs { name: "0123::inner" }
    """
    named = (("all-gather-start.1", 7040.5215), ('a"b\néA', 1000.0), ("c", 0.5), ("inner", 0.0, "0123"))
    assert parse_text(text) == CostProfile(tuple(Cost(*one) for one in named), (Latency("a", "b", 3.0),))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('costs { name: "a" cost_us: 1 }\ncosts { nam: "b" }', "line 2: 'nam' where name or cost_us"),
        ('costs { name: "a"', "line 1: 'the end' where"),
        ("costs { name: a }", "line 1: 'a' where a quoted name"),
        ('costs { name: "a" cost_us: "1" }', "line 1: '\"1\"' where microseconds"),
        ("cost { }", "line 1: 'cost' where costs or latencies"),
        ("\n\n$", "line 3: '\\$' is no part"),
        ("costs 1", "line 1: '1' where { or <"),
    ],
)
def test_what_is_no_profile_is_told_by_its_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_text(text)


@settings(max_examples=examples(40), deadline=None)
@given(PROFILES.filter(lambda profile: profile.costs != ()), st.data())
def test_bytes_that_break_off_are_no_profile(profile: CostProfile, data: st.DataObject) -> None:
    """Cut anywhere but between two entries."""
    whole, costs, latencies = print_binary(profile), profile.costs, profile.latencies
    ends = {len(print_binary(CostProfile(costs[:n]))) for n in range(len(costs) + 1)}
    ends |= {len(print_binary(CostProfile(costs, latencies[:n]))) for n in range(len(latencies) + 1)}
    at = data.draw(st.integers(0, len(whole)).filter(lambda at: at not in ends))
    with pytest.raises(ValueError, match="byte"):
        parse_binary(whole[:at])


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(PROFILES, min_size=1, max_size=4), st.integers(0, 100))
def test_merged_is_xlas_own_aggregate(profiles: list[CostProfile], percent: int) -> None:
    """The real C++ code reads what we write, and its answer is ours."""
    from jax._src.lib import _profiler

    theirs = parse_binary(_profiler.aggregate_profiled_instructions([print_binary(one) for one in profiles], percent))
    assert sorted(theirs.costs) == sorted(merged(profiles, percent).costs)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_percentile_is_one_of_the_values(values: list[float]) -> None:
    assert xla_percentile(values, 0) == min(values)
    assert xla_percentile(values, 100) == max(values)
    assert xla_percentile(values, 50) in values


def test_jaxs_default_of_three_runs_is_the_median() -> None:
    assert xla_percentile([1.0, 10.0, 2.0], 90) == 2.0


PROFILE = CostProfile((Cost("fusion.1", 2.5), Cost("all-gather-start", 700.25, "0" * 32)))


def test_a_file_is_read_as_xla_reads_it(tmp_path: Path) -> None:
    for name in ("profile.pbtxt", "profile.pb"):
        profile_files.write_profile(PROFILE, tmp_path / name)
        assert profile_files.read_profile(tmp_path / name) == PROFILE
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["profile.pb", "profile.pbtxt"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("p.txt", print_text(PROFILE).encode(), "holds the pbtxt form: rename it to p.pbtxt"),
        ("p.bin", print_binary(PROFILE), "holds the pb form: rename it to p.pb"),
        ("p.pb", print_text(PROFILE).encode(), "holds the form of .pbtxt.*Rename it to p.pbtxt"),
        ("p.pbtxt", print_binary(PROFILE), "holds the form of .pb\\..*Rename it to p.pb"),
        ("p.pbtxt", b'costs { name: "a" cost: 1 }', "line 1"),
        ("p.pb", b"\x0a\x05\x0a", "byte 3"),
        ("p.pb", b"", "no entry"),
        ("p.pbtxt", b'costs { name: "a" cost_us: -1 }', "'a' has a cost that is not a time"),
        ("p.pbtxt", b"costs { cost_us: 1 }", "1 entries have no name"),
    ],
)
def test_what_xla_would_pass_over_is_refused(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSetting, match=told):
        profile_files.read_profile(tmp_path / name)


@pytest.mark.parametrize("name", ["profile", "profile.txt", "t.xplane.pb", "absent/p.pb"])
def test_a_name_that_xla_would_pass_over_is_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSetting, match=r"no name for a profile|no folder"):
        profile_files.write_profile(PROFILE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_holds_programs_by_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadSetting, match="no file that is named by a program's fingerprint"):
        profile_files.read_folder(tmp_path)
    one, other = "0" * 32, "f" * 32
    shorter = PROFILE._replace(costs=PROFILE.costs[1:])
    profile_files.write_profile(PROFILE, tmp_path / f"{one}.pb")
    profile_files.write_profile(shorter, tmp_path / f"{one}.pbtxt")
    profile_files.write_profile(PROFILE, tmp_path / f"{other}.pb")
    assert profile_files.read_folder(tmp_path) == {one: shorter, other: PROFILE}
