"""What a comparison found: medians of its runs, the best variant, and the one to use."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune.measure.comparison import Comparison, Variant, VariantRun
from jaxgpu_tune.measure.statistics import Verdict
from tests.render.comparisons import ALONE, DIED, EQUAL, FAILED, FASTER, REFERENCE, SILENT, SLOWER, WHOLE


def test_a_variant_is_the_median_of_the_runs_that_were_measured() -> None:
    """Of memory a value that a run had, since one between two runs was nobody's."""
    assert REFERENCE.value == 0.012
    assert (REFERENCE.compile_seconds, REFERENCE.first_step_s, REFERENCE.peak_bytes) == (10.0, 21.0, 2 * 2**30)
    odd = REFERENCE._replace(trials=(*REFERENCE.trials, VariantRun("none", 3, "ok", value=0.014)))
    assert odd.value == pytest.approx(0.013)
    assert (DIED.value, DIED.compile_seconds, DIED.first_step_s, DIED.peak_bytes) == (None,) * 4


def test_the_references_run_against_itself_is_in_no_median_of_pairs() -> None:
    """With one pair the medians are that pair, so they agree with its sign."""
    runs = [VariantRun("none", number, "ok", value=value) for number, value in enumerate((0.5, 0.1))]
    one = REFERENCE._replace(trials=tuple(runs))
    assert one.value == 0.1
    assert one._replace(trials=(runs[0], runs[1]._replace(value=None))).value == 0.5


@pytest.mark.parametrize(
    ("found", "best", "winner", "verdict"),
    [
        (WHOLE, FASTER, FASTER, "faster"),
        (EQUAL, EQUAL.variants[1], REFERENCE, "no-difference"),
        (WHOLE._replace(variants=(REFERENCE, SLOWER)), SLOWER, REFERENCE, "slower"),
        (WHOLE._replace(variants=(REFERENCE, DIED, SLOWER)), SLOWER, REFERENCE, "slower"),
        (WHOLE._replace(variants=(REFERENCE, DIED, SILENT)), DIED, REFERENCE, "failed"),
        (FAILED, DIED, FAILED.variants[0], "failed"),
        (ALONE, ALONE.variants[0], ALONE.variants[0], "failed"),
    ],
)
def test_the_winner_is_the_best_where_that_is_faster_else_the_reference(
    found: Comparison, best: Variant, winner: Variant, verdict: str
) -> None:
    """Best is the largest ratio of those that were measured."""
    assert (found.best, found.winner, found.verdict) == (best, winner, verdict)
    assert (found.ratios, found.interval) == (best.ratios, best.verdict.interval)
    assert found.reference is found.variants[0]


def test_of_two_that_are_faster_the_fastest_wins() -> None:
    """In whatever order they were given."""
    faster = Variant("more", Verdict("faster", 1.5, (1.4, 1.6), 0.97))
    for variants in ((REFERENCE, FASTER, faster), (REFERENCE, faster, FASTER)):
        assert WHOLE._replace(variants=variants).winner is faster


def test_its_json_holds_every_run_and_verdicts_in_words() -> None:
    told = json.loads(json.dumps(WHOLE.to_dict()))
    assert (told["verdict"], told["winner"]) == ("faster", "fsdp <a>")
    assert [one["sentence"] for one in told["variants"]] == [one.verdict.sentence for one in WHOLE.variants]
    assert [len(one["trials"]) for one in told["variants"]] == [3, 1, 1, 0, 0]
    assert told["variants"][0]["trials"][0]["peak_bytes"] == 3 * 2**30
    assert told["findings"][0]["code"] == "busy-gpu" and told["noise"] == 1.012
