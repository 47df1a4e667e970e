"""What a search found: the answer in words at every stage, what each setting did, and the preset that holds it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from jaxgpu_tune.knowledge.presets import load_preset_file
from jaxgpu_tune.knowledge.tables import read_toml
from jaxgpu_tune.measure.search.contest import Contest
from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import NOTHING, Config, Start, Trial
from jaxgpu_tune.measure.statistics import PAIRS
from jaxgpu_tune.measure.tuning.tuned import Tuned, how_it_goes, search_preset, tuned
from jaxgpu_tune.model import Finding
from tests.measure.tuning.test_drive import space


def told(*more: Trial) -> Search:
    """A search that was told of the program as it is, and more."""
    search = Search(space().starts[:1], space().moves, space().risk)
    for trial in (Trial(NOTHING, "start", 10.0, "", 20.0), *more):
        search.tell(trial)
    return search


def config(name: str) -> Config:
    """The settings of that name."""
    return next(move.config for move in space().moves if space().name(move.config) == name)


def checked(ratio: float, pairs: int = PAIRS) -> list[Trial]:
    """Runs of the proof, the challenger so many times as fast."""
    turns = [Contest(NOTHING, LOOPS).turn(number) for number in range(2 * pairs)]
    peaks = {NOTHING: 2**31, LOOPS: 2**30}
    return [
        Trial(one, "check", 10.0 if one == NOTHING else 10.0 / ratio, "", 20.0, "", {"peak_bytes": peaks[one]})
        for one in turns
    ]


LOOPS = config("loops-in-graphs")
FAST = Trial(LOOPS, "toggle", 8.0, "", 20.0)
BOTH = Trial(LOOPS | config("cublas-only"), "toggle", 6.0, "", 20.0)
DIED = Trial(NOTHING, "check", None, "died", 1.0, "", {"cause": "exit code 1: ValueError"})
ALONE = Trial(config("cublas-only"), "toggle", None, "hang", 60.0, "", {"cause": "it was ended"})


def found(*more: Trial) -> Tuned:
    """The answer then."""
    return tuned(told(*more), space(), "tuned.toml", {"command": ["python", "train.py"]}, [Finding("a", "note", "b")])


def test_what_is_proved_is_a_preset_with_its_evidence(tmp_path: Path) -> None:
    """The gain is that of the fresh pairs, not the one that was seen on the way."""
    answer = found(FAST, ALONE, *checked(1.2))
    assert answer.path == "tuned.toml" and answer.against == "what you have"
    assert (answer.gain, answer.interval) == (pytest.approx(1.2), pytest.approx((1.2, 1.2)))
    assert answer.sentence.startswith(
        "1.200 times as fast as what you have (1.200 to 1.200 in 6 fresh pairs) with --xla"
    )
    (tmp_path / "t.toml").write_text(search_preset(answer.report))
    preset = load_preset_file(tmp_path / "t.toml")
    assert [f"--{one.name}={one.value}" for one in preset.settings] == list(answer.settings)
    assert "H200" in preset.evidence[0] and answer.sentence in preset.evidence[0]
    assert "15 runs; median times in the pairs: 10.000 and 8.333 ms a step." in preset.evidence
    assert "Peak memory of a device: 2 GiB and 1 GiB." in preset.evidence
    measured = read_toml(tmp_path / "t.toml")["measured"]
    assert measured == {"jaxlib": "==0.11.2", "compute_capability": "==9.0", "devices": "==1"}


def test_what_each_setting_did_is_told_whether_it_ran_or_not() -> None:
    did = {one.name: one for one in found(FAST, ALONE, *checked(1.2)).did}
    loops, alone, never = did["loops-in-graphs"], did["cublas-only"], did["small-graphs"]
    assert loops.chosen and loops.effect == pytest.approx(1.25, abs=0.05) and loops.tried == 1 + PAIRS
    assert (alone.chosen, alone.effect, alone.tried, alone.why) == (False, None, 1, "hang: it was ended")
    assert (never.tried, never.why) == (0, "not reached")
    assert did["pipeline-all-gather"].why == next(
        one.why for one in space().left_out if one.name == "pipeline-all-gather"
    )


def test_the_report_is_json_for_any_reader_whatever_numbers_a_program_printed() -> None:
    """JSON has no NaN."""
    nan = Trial(LOOPS, "toggle", None, "nan", 20.0, "", {"numbers": [1.5, math.nan, -math.inf]})
    told = json.loads(json.dumps(found(nan).report, allow_nan=False))
    assert told["trials"][-1]["detail"]["numbers"] == [1.5, None, None]


def test_of_an_even_number_of_pairs_the_median_is_between_the_two_in_the_middle() -> None:
    """As everywhere."""
    runs = [one._replace(ms=one.ms and one.ms + number) for number, one in enumerate(checked(2.0))]
    evidence = search_preset(found(FAST, *runs).report)
    assert "15.500 and 10.500 ms a step" in evidence


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (
            {"clock": "metric", "higher_is_better": True, "metric": "tokens/s: (.*)"},
            "medians in the pairs: 100 and 120 (tokens/s: (.*)).",
        ),
        ({"clock": "whole", "metric": None}, "medians in the pairs: 10 ms and 8.333 ms (of the whole run)."),
    ],
)
def test_the_evidence_tells_what_was_judged_by(judged: dict[str, object], words: str) -> None:
    """Tokens a second had been told as milliseconds a step."""
    answer = tuned(told(FAST, *checked(1.2)), space(), "tuned.toml", {"command": ["a"], **judged})
    assert words in search_preset(answer.report)
    line = how_it_goes(told(FAST), space(), 100.0, judged)
    assert ("125 " if "higher_is_better" in judged else "8 ms ") in line and "1.250  one change" in line


def test_a_preset_that_there_was_no_room_for_is_told_once() -> None:
    """One that is a candidate, too, stands there already."""
    ours = Start("mine", config("cublas-only") | LOOPS)
    here = space()._replace(starts=(*space().starts, ours))
    search = Search(here.starts, here.moves, here.risk)

    def did() -> list[tuple[str, str]]:
        told = [(one.name, one.why) for one in tuned(search, here, "t.toml", {}).did]
        assert len(dict(told)) == len(told)
        return told

    search.tell(Trial(NOTHING, "start", 10.0))
    assert ("mine", "not reached") in did()
    search.tell(Trial(ours.config, "start", 9.0))
    assert "mine" not in dict(did())


def test_a_line_after_each_run_names_it_and_the_best_so_far() -> None:
    """While the proof runs no best is told: it is what the proof is about."""
    line = how_it_goes(told(FAST), space(), 100.0)
    assert (
        "8 ms" in line and "1.250  one change      loops-in-graphs  (1:40 left; best so far: loops-in-graphs)" in line
    )
    check = checked(1.2)[1]
    proof = how_it_goes(told(FAST, check), space(), 100.0)
    assert proof.count("loops-in-graphs") == 1


def test_a_speed_is_told_against_the_faster_of_the_first_runs() -> None:
    """The very first run may have been slow: it read files for the first time, or chose kernels."""
    again = Trial(NOTHING, "start", 5.0)
    line = how_it_goes(told(again, FAST), space(), 100.0)
    assert " 0.625  one change" in line and found(again, FAST).report["ms_as_it_is"] == 5.0


def test_what_failed_together_is_blamed_only_where_the_rest_ran_well() -> None:
    """Else it is not known which of them it was."""
    died = BOTH._replace(ms=None, failure="died")
    for before, blamed in (((), {}), ((FAST,), {"cublas-only": "died"})):
        why = {one.name: one.why for one in found(*before, died).did if one.tried}
        assert {name: text for name, text in why.items() if text} == blamed and "cublas-only" in why


def test_each_way_of_failing_is_told_once() -> None:
    died = ALONE._replace(failure="died", detail={})
    did = {one.name: one for one in found(FAST, ALONE, died, ALONE, *checked(1.2)).did}
    assert did["cublas-only"].why == "hang: it was ended; died"
    same = found(ALONE._replace(failure="same-program")).did
    assert "the compiled program stays the same" in next(one.why for one in same if one.name == "cublas-only")
