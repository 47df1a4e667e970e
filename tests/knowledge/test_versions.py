"""Versions, ranges of them, and the release that stands for a version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.versions import is_specifier, matches, numbers, resolve_among, version_key

RELEASES = flags.releases()
VERSIONS = st.tuples(*[st.integers(0, 12)] * 3).map(lambda parts: ".".join(map(str, parts)))
SIGNS = ("==", "!=", ">=", "<=", "<", ">")


@given(VERSIONS, VERSIONS)
def test_comparisons_of_two_versions_agree(one: str, other: str) -> None:
    """Exactly one of <, == and > holds, and the others follow from that."""
    holds = {sign: matches(f"{sign}{other}", one) for sign in SIGNS}
    assert sum(holds[sign] for sign in ("<", "==", ">")) == 1
    assert holds["<="] is (holds["<"] or holds["=="]) and holds[">="] is (holds[">"] or holds["=="])
    assert holds["!="] is not holds["=="]
    left, right = (tuple(map(int, text.split("."))) for text in (one, other))
    assert holds["<"] is (left < right)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_every_clause_of_a_range_counts(version: str, low: str, high: str) -> None:
    assert matches(f">={low}, <{high}", version) is (matches(f">={low}", version) and matches(f"<{high}", version))


def test_what_is_no_version_or_range_raises() -> None:
    with pytest.raises(ValueError, match="'nightly' is not a version"):
        version_key("nightly")
    with pytest.raises(ValueError, match="is not a version range"):
        matches("0.5", "0.5")
    assert not is_specifier(">=0.5+local") and is_specifier(" >=0.5 , <1 ")
    assert numbers("v0.4.30.nv24") == (0, 4, 30) and numbers("0.6.1.dev3") == (0, 6, 1) and numbers("x") == ()
    assert str(version_key("0.4.30+cuda12.cudnn89")) == "0.4.30"


@pytest.mark.parametrize("more", ["", "+cuda12.cudnn89", ".post6"])
def test_a_release_is_itself_however_it_is_packed(more: str) -> None:
    for release in RELEASES:
        found = resolve_among(RELEASES, release + more)
        assert (found.release, found.exact, found.neighbours) == (release, True, (release,))


@pytest.mark.parametrize(
    ("version", "release", "neighbours"),
    [
        ("0.6.1.dev20250514", "0.6.1", ("0.6.0", "0.6.1")),
        ("0.6.1rc1", "0.6.1", ("0.6.0", "0.6.1")),
        ("0.4.19.5", "0.4.19", ("0.4.19", "0.4.20")),
        ("0.4.1", RELEASES[0], (RELEASES[0],)),
        ("99.0", RELEASES[-1], (RELEASES[-1],)),
        ("nightly", RELEASES[-1], (RELEASES[-1],)),
    ],
)
def test_what_lies_between_releases_has_both_as_neighbours(
    version: str, release: str, neighbours: tuple[str, ...]
) -> None:
    """A development build stands nearest to the release that it leads to."""
    found = resolve_among(RELEASES, version)
    assert (found.release, found.exact, found.neighbours) == (release, False, neighbours)


@given(VERSIONS)
def test_a_version_resolves_to_one_of_its_neighbours(version: str) -> None:
    """Which are next to each other, one not above it and the next above it."""
    found = resolve_among(RELEASES, version)
    assert found.release in found.neighbours
    places = [RELEASES.index(one) for one in found.neighbours]
    assert places == list(range(places[0], places[0] + len(places))) and len(places) <= 2
    if len(places) == 2:
        low, high = map(version_key, found.neighbours)
        assert low < version_key(version) < high


def test_missing_numbers_are_zeros() -> None:
    assert resolve_among(RELEASES, "0.5").release == "0.5.0" and resolve_among(RELEASES, "0.5").exact
