"""Python's string literals, read with the place of each character: Python itself says what they are."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.files.literals import literals
from jaxgpu_tune.planning.files.mapped import HOLE, Mapped, as_it_stands

BEFORE = "flags = "
BODIES = st.lists(
    st.sampled_from(["a", "--xla_a=1", " ", "\\n", "\\x41", "\\u00e9", "\\101", "{", "}", "é", "'", '"'])
).map("".join)
MARKS = st.sampled_from(["'", '"', "'''", '"""'])
PREFIXES = st.sampled_from(["", "r", "u", "R"])


def read(source: str) -> list[Mapped]:
    """The literals of an expression that stands behind other text."""
    return list(literals(as_it_stands(source, len(BEFORE))))


@settings(max_examples=30)
@given(
    st.lists(st.tuples(PREFIXES, MARKS, BODIES), min_size=1, max_size=3), st.sampled_from([" ", "\\\n", "  # why\n"])
)
def test_what_is_read_is_what_python_reads(parts: list[tuple[str, str, str]], between: str) -> None:
    """One literal behind the other, each character at its own place in the file."""
    source = between.join(f"{prefix}{mark}{body.replace(mark[0], '')}{mark}" for prefix, mark, body in parts)
    found = read(f"({source})")
    assert "".join(piece.text for piece in found) == ast.literal_eval(f"({source})")
    places = [span for piece in found for span in piece.spans]
    assert places == sorted(places) and len({*places}) == len(places)
    text = f"{BEFORE}({source})"
    for piece in found:
        for character, (start, end) in zip(piece.text, piece.spans, strict=True):
            assert end - start > 1 or text[start:end] == character


@settings(max_examples=30)
@given(st.text("ab-=_ ,{}\\'\"é\n"), st.sampled_from(["", "r", "f", "rf"]), MARKS)
def test_what_is_written_in_its_place_is_read_back(new: str, prefix: str, mark: str) -> None:
    """Or refused, where such quotes cannot carry it."""
    (piece,) = read(f"{prefix}{mark}x{mark}")
    said = piece.encode(new)
    if said is None or ("\n" in new and len(mark) == 1):
        assert said is not None or "r" in prefix
        return
    assert eval(f"{prefix}{mark}{said}{mark}") == new


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("f'a{b}c'", ["a", HOLE, "c"]),
        ("f'{{a}}{b[1:{2}]}'", ["{a}", HOLE, ""]),
        ("f'{a}' 'b'", ["", HOLE, "", "b"]),
        ("'{a}'", ["{a}"]),
        ("name", []),
    ],
)
def test_what_an_f_string_puts_in_is_a_hole(source: str, texts: list[str]) -> None:
    """Doubled brackets are brackets; other text has none."""
    found = read(source)
    assert [piece.text for piece in found] == texts
    assert all(piece.encode("x") is None for piece in found if piece.text == HOLE)
