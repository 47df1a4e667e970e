"""The answer in words at every stage of a search, and what makes it doubtful."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import NOTHING, Step, Trial
from jaxgpu_tune.measure.tuning.answer import doubts
from jaxgpu_tune.measure.tuning.tuned import search_preset, tuned
from tests.measure.tuning.test_drive import Solver, searched, space
from tests.measure.tuning.test_tuned import ALONE, BOTH, DIED, FAST, LOOPS, checked, found, told


def test_a_budget_without_room_for_a_try_says_so_and_how_much_is_missing(tmp_path: Path) -> None:
    class Slow(Solver):
        def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
            trial = super().__call__(step, number, limit, ahead)
            return trial._replace(seconds=10.0, detail={"agreed": True, "compile_seconds": 2.0})

    class Slower(Slow):
        mode = 1.5

    found, _ = searched(tmp_path, Slower(), budget=60.0)
    assert [one.purpose for one in found.trials] == ["start", "start", "start"]
    assert "no room for one try and its proof, which take about 2 min more" in found.sentence
    assert "Start it again with a larger budget, such as 4m: it goes on from here." in found.sentence
    again, _ = searched(tmp_path, Slower(), budget=240.0)
    assert again.path is not None, "the budget that was named is enough"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "Nothing was tried: the budget has no room for one try"),
        ((FAST,), "Nothing is proved yet: loops-in-graphs looks 1.2"),
        ((FAST, *checked(1.25, 2)), "Nothing is proved yet"),
        ((Trial(LOOPS, "toggle", 11.0),), "Nothing beats what you have: no setting that was tried is expected to gain"),
        ((ALONE,), "Nothing beats what you have: no setting that was tried"),
        ((ALONE._replace(failure="overwritten"),), "Nothing was measured: the program drops all settings that were"),
        ((ALONE, ALONE._replace(failure="overwritten")), "Nothing beats what you have"),
        (
            (ALONE,),
            "to gain anything. Not all was tried: start it again with a larger budget, and it goes on from here.",
        ),
        (
            (DIED._replace(purpose="start"), ALONE),
            "Nothing is proved: all that was tried failed, and the program as it is",
        ),
        ((FAST, *checked(1.25, 2), *checked(0.9, 1)), "loops-in-graphs looked best, but in fresh pairs: "),
        ((FAST, *checked(0.9, 1)), "but in fresh pairs: no faster in the first of them (0.900 times as fast)."),
        ((FAST, *[DIED] * 2), "Nothing is proved yet"),
        (
            (FAST, *[DIED] * 3),
            "Nothing is proved. loops-in-graphs looked best, but in fresh pairs: what you have failed",
        ),
        ((FAST, BOTH, Trial(BOTH.config, "check", None, "hang")), "Nothing is proved yet: loops-in-graphs looks 1.2"),
        ((FAST, BOTH, Trial(BOTH.config, "check", None, "hang")), "but in fresh pairs: it failed (hang)."),
    ],
)
def test_until_it_is_proved_nothing_is_claimed(more: tuple[Trial, ...], words: str) -> None:
    """The sentence says how far it is, and no preset is written."""
    answer = found(*more)
    assert words in answer.sentence
    assert (answer.path, answer.gain, answer.interval, answer.settings, answer.against) == (None, 1.0, None, (), "")
    assert answer.to_dict()["answer"] == answer.sentence
    with pytest.raises(ValueError, match="nothing was proved"):
        search_preset(answer.report)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "So far nothing beats what you have, but it was interrupted before the search was over. Start it again: "),
        ((Trial(LOOPS, "toggle", 11.0),), "it was interrupted before the search was over."),
        ((FAST, *checked(1.25, 2)), "but it was interrupted before 6 fresh pairs"),
    ],
)
def test_what_was_interrupted_had_no_budget_that_was_too_small(more: tuple[Trial, ...], words: str) -> None:
    sentence = tuned(told(*more), space(), "t.toml", {}, interrupted=True).sentence
    assert words in sentence and "budget" not in sentence


def test_where_everything_is_left_out_nothing_was_tried_and_no_budget_helps() -> None:
    here = space()._replace(starts=space().starts[:1], moves=())
    search = Search(here.starts, here.moves)
    for _ in range(2):
        search.tell(Trial(NOTHING, "start", 10.0))
    sentence = tuned(search, here, "t.toml", {}).sentence
    assert sentence.startswith("Nothing was tried: all that could be is left out here") and "budget" not in sentence


def test_before_any_run_nothing_was_measured() -> None:
    search = Search(space().starts[:1], space().moves, space().risk)
    assert tuned(search, space(), "t.toml", {}).sentence == "Nothing was measured yet."


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((Trial(NOTHING, "start", 10.4),), []),
        ((Trial(NOTHING, "start", 20.0),), ["took 10 ms and 20 ms a step"]),
        ((Trial(NOTHING, "start", 31.0),), ["took 10 ms and 31 ms a step. They may have timed different steps"]),
        ((DIED, Trial(NOTHING, "start", 10.0)), ["failed as it is in 1 of 3 runs (died: exit code 1: ValueError)"]),
        (
            (FAST._replace(detail={"error": 0.03}), BOTH._replace(detail={"error": 0.1})),
            ["In 2 of 3 runs the steps varied"],
        ),
        ((FAST._replace(detail={"error": 0.03}), BOTH), []),
    ],
)
def test_what_makes_it_doubtful_is_told(more: tuple[Trial, ...], words: list[str]) -> None:
    """Runs as it is that differ or fail, and steps that vary in most runs."""
    told_so = [finding.message for finding in doubts(told(*more))]
    assert len(told_so) == len(words) and all(word in one for word, one in zip(words, told_so, strict=True))
    assert [one["message"] for one in found(*more).report["findings"]] == ["b", *told_so]


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        ({"clock": "metric", "higher_is_better": True}, "printed 100 and 50."),
        ({"clock": "metric", "higher_is_better": False}, "printed 10 and 20."),
        ({"clock": "whole"}, "took 10 ms and 20 ms."),
        ({}, "took 10 ms and 20 ms a step."),
    ],
)
def test_a_metric_is_told_as_the_program_prints_it(judged: dict[str, object], words: str) -> None:
    """Tokens a second had been told as milliseconds a step."""
    (finding,) = doubts(told(Trial(NOTHING, "start", 20.0)), judged)
    assert words in finding.message and ("--seconds" in finding.hint) == (judged.get("clock") != "whole")
    varied = told(*[FAST._replace(detail={"error": 0.1})] * 2)
    assert bool(list(doubts(varied, judged))) == (not judged), (
        "what is judged by no step says nothing of steps that vary"
    )


def test_where_nothing_is_left_to_try_no_larger_budget_is_asked_for() -> None:
    here = space()._replace(starts=space().starts[:1], moves=space().moves[:1])
    search = Search(here.starts, here.moves)
    for config in (NOTHING, NOTHING, here.moves[0].config):
        search.tell(Trial(config, "start" if not config else "toggle", 11.0 if config else 10.0))
    assert tuned(search, here, "t.toml", {}).sentence.endswith(
        "no setting that was tried is expected to gain anything."
    )


@pytest.mark.parametrize(("failure", "words"), [("died", "by itself"), ("no-steady-state", "more steps")])
def test_what_helps_a_program_that_fails_at_times_follows_from_how_it_fails(failure: str, words: str) -> None:
    (finding,) = doubts(told(DIED._replace(failure=failure)))
    assert words in finding.hint
