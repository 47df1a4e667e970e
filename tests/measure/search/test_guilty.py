"""The guilty set is found, is minimal, and costs few runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.guilty import Guilty, guilty

PARTS = tuple(range(16))


def hunted(sets: list[frozenset[int]], parts: tuple[int, ...] = PARTS) -> tuple[Guilty[int], int]:
    """What is found where any of ``sets`` shows the fault, and after how many runs."""
    answers: dict[frozenset[int], bool] = {}
    while (found := guilty(parts, answers)).ask is not None:
        asked = frozenset(found.ask)
        assert asked not in answers
        answers[asked] = any(one <= asked for one in sets)
    return found, len(answers)


@given(st.sets(st.sampled_from(PARTS), min_size=1, max_size=4))
def test_one_set_is_found_exactly(planted: set[int]) -> None:
    found, runs = hunted([frozenset(planted)])
    assert [set(one) for one in found.sets] == [planted]
    assert runs <= 27


@given(st.sampled_from(PARTS))
def test_a_single_part_costs_few_runs(part: int) -> None:
    """All, none, at most two a halving, and the rest."""
    found, runs = hunted([frozenset({part})])
    assert found.sets == ((part,),)
    assert runs <= 11


@given(st.lists(st.frozensets(st.sampled_from(PARTS), min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_found_is_minimal_and_its_removal_cures(planted: list[frozenset[int]]) -> None:
    """Whatever is planted: each set shows the fault, nothing of it can be left out, and without all of them it is gone."""
    found, _ = hunted(planted)
    shows = lambda some: any(one <= frozenset(some) for one in planted)  # noqa: E731
    assert found.sets
    for one in found.sets:
        assert shows(one)
        assert not any(shows(set(one) - {part}) for part in one)
    assert not shows(set(PARTS) - {part for one in found.sets for part in one})


def test_no_fault_and_a_fault_of_something_else_are_told() -> None:
    found, runs = hunted([])
    assert (found.sets, runs) == ((), 2)
    assert "do not show" in found.problem
    found, _ = hunted([frozenset()])
    assert "without any" in found.problem
