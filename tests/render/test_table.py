"""Columns of plain text: nothing is cut off, and nothing is wider than it may be."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.render.table import hanging, table, wrapped

WORDS = st.lists(st.from_regex(r"[a-z]{1,7}", fullmatch=True), min_size=1, max_size=12).map(" ".join)


@given(WORDS, st.integers(20, 60), st.sampled_from(["", "  ", "    "]))
def test_wrapped_text_keeps_its_words_and_its_width(text: str, width: int, indent: str) -> None:
    lines = wrapped(text, width, indent)
    assert all(len(line) <= width and line.startswith(indent) for line in lines)
    assert " ".join(line.removeprefix(indent) for line in lines) == text
    greedy = [len(line) + 1 + len(after.split()[0]) > width for line, after in pairwise(lines)]
    assert all(greedy), "a line takes what fits"


def test_a_word_that_is_too_long_is_broken_and_hyphens_are_not() -> None:
    assert wrapped("x" * 20, 12) == ["x" * 12, "x" * 8]
    assert wrapped("abcd efg-hij", 10) == ["abcd", "efg-hij"]
    assert wrapped("abcdefghij", 3, "  ") == ["  abcdefgh", "  ij"]
    assert wrapped("", 10, "  ") == [""]


@given(WORDS, st.integers(24, 60), st.sampled_from(["", "  "]))
def test_all_but_the_first_line_hang(text: str, width: int, indent: str) -> None:
    first, *rest = hanging(text, width, indent)
    assert first.startswith(f"{indent}{text[0]}") and all(line.startswith(f"{indent}    ") for line in rest)
    assert max(map(len, (first, *rest))) <= width
    assert " ".join(line.strip() for line in (first, *rest)) == text


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5), st.integers(60, 140))
def test_every_word_of_a_table_is_there_and_fits(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = table(rows, width, "  ")
    assert max(map(len, lines)) <= width and all(line == line.rstrip() for line in lines)
    assert sorted(" ".join(lines).split()) == sorted(" ".join(" ".join(row) for row in rows).split())


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    rows = [("name", "value"), ("a", "one two"), ("longer", "three")]
    assert table(rows, 40) == ["name    value", "a       one two", "longer  three"]
    assert table(rows, 40, "> ")[0] == "> name    value"


def test_the_widest_column_gives_way_and_the_last_takes_what_is_left() -> None:
    rows = [("n" * 4, "w" * 30, "last of all these words here")]
    lines = table(rows, 40)
    assert max(map(len, lines)) <= 40 and lines[0].startswith("nnnn  wwww")
    assert "".join(lines).count("w") == 31


@pytest.mark.parametrize(("narrowest", "first"), [(8, 10), (12, 12), (20, 20)])
def test_no_column_is_narrower_than_the_narrowest(narrowest: int, first: int) -> None:
    lines = table([("a" * 40, "b" * 40)], 20, narrowest=narrowest)
    assert lines[0] == f"{'a' * first}  {'b' * narrowest}"
    assert table([("a" * 40, "b" * 40)], 20)[0] == f"{'a' * 12}  {'b' * 12}"
