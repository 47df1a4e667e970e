"""Text with the place of each character: within other text, and as several pieces."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.files.mapped import (
    HOLE,
    NOWHERE,
    Mapped,
    Spans,
    as_it_stands,
    as_json,
    joined_text,
    line_of,
    line_start,
)

TEXT = st.text("ab\n\"'\\é😀")


@settings(max_examples=25)
@given(TEXT, st.data())
def test_text_within_text_has_the_places_of_the_file(file: str, data: st.DataObject) -> None:
    """However deep, and with the quotes of each around what is written there."""
    start = data.draw(st.integers(0, len(file)))
    end = data.draw(st.integers(start, len(file)))
    outer = as_it_stands(file[start:end], start, lambda text: f"({text})")
    at = data.draw(st.integers(0, end - start))
    inner = as_it_stands(outer.text[at:], at, lambda text: f"[{text}]").within(outer)
    assert "".join(file[a:b] for a, b in inner.spans) == inner.text == file[start + at : end]
    assert inner.encode("x") == "([x])"


def test_what_is_not_known_has_no_place_and_cannot_be_written() -> None:
    """Within other text as well."""
    for hole in (Mapped.hole(), Mapped.hole().within(as_it_stands("abc", 7))):
        assert (hole.text, hole.spans, hole.encode("x")) == (HOLE, (NOWHERE,), None)
    refused = as_it_stands("a", 0, lambda _: None).within(as_it_stands("abc"))
    assert refused.encode("x") is None


@settings(max_examples=25)
@given(st.lists(TEXT, max_size=4))
def test_each_character_of_several_pieces_knows_its_own(texts: list[str]) -> None:
    pieces = [as_it_stands(text, 10 * number) for number, text in enumerate(texts)]
    whole, places = joined_text(iter(pieces))
    assert whole == "".join(texts) and len(places) == len(whole)
    assert all(piece.text[at] == character for character, (piece, at) in zip(whole, places, strict=True))
    assert [piece for piece, at in places if at == 0] == [piece for piece in pieces if piece.text]


@settings(max_examples=25)
@given(TEXT)
def test_json_reads_back_what_is_written_between_its_quotes(text: str) -> None:
    assert json.loads(f'"{as_json(text)}"') == text


@settings(max_examples=25)
@given(TEXT, st.data())
def test_lines_are_counted_from_one(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert line_of(text, at) == len(text[:at].split("\n"))


@settings(max_examples=50)
@given(st.text("a\n"), st.data())
def test_a_place_is_in_its_line(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    start = line_start(text, at)
    assert line_of(text, at) == text[:at].count("\n") + 1
    assert start <= at and "\n" not in text[start:at] and (start == 0 or text[start - 1] == "\n")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.just("n"), st.integers(0, 9), st.integers(0, 9))), st.integers(0, 9))
def test_a_place_is_in_one_of_the_spans_around_it(spans: list[tuple[str, int, int]], at: int) -> None:
    """Or in none."""
    kept = [span for span in spans if span[1] <= span[2]]
    assert bool(Spans(kept).around(at)) is any(start <= at < end for _, start, end in kept)
