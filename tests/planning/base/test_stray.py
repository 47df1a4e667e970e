"""What a .env file or an editor leaves around a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.planning.base.stray import unwrapped


@given(
    st.from_regex(r"[a-z0-9.]+( [a-z]+)?", fullmatch=True),
    st.lists(st.sampled_from(['""', "''", "\u201c\u201d", "\u2018\u2019"]), max_size=3),
    st.sampled_from(["", "\n", "\r\n"]),
)
def test_pairs_of_quotes_and_ends_of_lines_come_off(plain: str, pairs: list[str], end: str) -> None:
    """However many."""
    text = plain
    for opening, closing in pairs:
        if opening not in text:
            text = opening + text + closing
    assert unwrapped(text + end) == plain


@pytest.mark.parametrize("text", ["", '"', '"a', "a'", '"a" "b"', "\u201ca\u201c", " a ", "a\tb", "'a'b'"])
def test_what_is_no_wrapping_stays(text: str) -> None:
    """Blanks of its own, too."""
    assert unwrapped(text) == text


def test_an_end_of_a_line_comes_off_with_the_blanks_beside_it() -> None:
    assert unwrapped(" a \n") == "a" and unwrapped('"" ') == ""
