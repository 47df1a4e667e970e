"""A comparison as text and as HTML: a line a variant, the verdict in words, and what is noise."""

from __future__ import annotations

import pytest

from jaxgpu_tune.render.comparison import comparison_html, comparison_text, seconds_text, value_text
from tests.render.comparisons import ALONE, DIED, EQUAL, FAILED, FASTER, SILENT, SLOWER, WHOLE, trial


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (2e-5, "20 µs"),
        (0.000999, "999 µs"),
        (0.001, "1 ms"),
        (0.0123456, "12.35 ms"),
        (1.0, "1 s"),
        (75.04, "75.04 s"),
    ],
)
def test_a_time_is_told_in_the_unit_that_reads_best(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == value_text(seconds, "marks") == text


def test_a_metric_has_no_unit() -> None:
    assert (value_text(0.0123456, "metric"), value_text(None, "metric")) == ("0.012346", "-")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_every_variant_and_its_verdict_are_told_within_the_width(width: int) -> None:
    """The best against the reference comes first; who failed says why; the noise is told in per cent."""
    lines = comparison_text(WHOLE, width).splitlines()
    squeezed = " ".join(" ".join(lines).split())
    assert max(map(len, lines[:-1])) <= width and lines[-1] == f"Repeat: {WHOLE.command}"
    assert squeezed.startswith(f"jaxgpu_tune compare: {FASTER.name} against none: ")
    assert all(variant.name in squeezed for variant in WHOLE.variants)
    assert "+1.2%, which is noise." in squeezed and f"Use {FASTER.name}." in squeezed
    if width > 100:
        assert SLOWER.verdict.sentence in squeezed and f"failed (died): {DIED.cause}" in squeezed
        assert "the reference" in squeezed and "not measured" in squeezed


def test_the_last_words_of_a_reference_that_failed_are_shown() -> None:
    """As they were said, indented; a reference that was measured shows none."""
    lines = comparison_text(FAILED, 100).splitlines()
    at = lines.index("Its last words:")
    assert lines[at + 1 : at + 3] == ["  no", "    such file"]
    assert all("Its last words:" not in comparison_text(one, 100) for one in (WHOLE, ALONE, EQUAL))


def test_a_reference_that_fails_in_some_runs_is_told_as_that() -> None:
    """What ran beside it has a time, but no pair."""
    runs = (trial("none", 0, 0.01), trial("none", 1, 0.01), trial("none", 2, None))
    reference = FAILED.reference._replace(trials=runs)
    other = SILENT._replace(trials=(trial("silent", 1, 0.02),))
    said = comparison_text(FAILED._replace(variants=(reference, other)), 200)
    assert "failed (died) in 1 of 3 runs: it ended with status 1" in said and "20 ms" in said
    assert "The reference (none) failed in 1 of 3 runs, so nothing" in said and "what one run leaves" in said
    assert "what one run leaves" not in comparison_text(FAILED, 200)
    assert "no pair was measured" in said and "not measured" not in said.replace("was not measured", "")


def test_nothing_is_recommended_where_nothing_is_better() -> None:
    """Whether more or less is better is said of a metric."""
    said = comparison_text(EQUAL, 200)
    assert "Use " not in said and "noise" not in said and "(more is better)" in said


def test_markup_in_names_shows_as_text() -> None:
    """And what was found stands in the colour of its severity."""
    page = comparison_html(WHOLE)
    assert "fsdp &lt;a&gt;" in page and "<a>" not in page and "&lt;busy&gt;" in page
    assert page.index('class="warning"') < page.index('class="note"') < page.index("<table")
