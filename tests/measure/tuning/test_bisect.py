"""Where a bisect keeps its runs, and what it goes by; its answers on real programs are in tests/cli."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from jaxgpu_tune.cli.measuring import how_of
from jaxgpu_tune.measure.runs import RunOutcome
from jaxgpu_tune.measure.tuning import bisect
from jaxgpu_tune.measure.tuning.bisect import Bisected, Symptom, _shows, bisect_command
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.suspects import Suspects
from jaxgpu_tune.measure.watched import Compilation, Process
from tests.measure.atoms import atom
from tests.measure.tuning.test_space import space

PARTS = tuple(atom(f"{name}=1", "env") for name in ("GOOD", "BAD"))
GIVEN = {"seconds": "1", "timeout": None, "metric": None, "higher_is_better": False, "numbers": None, "whole": False}


def bisected(folder: Path, script: str, symptom: Symptom = Symptom(), **more: object) -> Bisected:  # noqa: B008 - a frozen value
    suspects = Suspects(space(gpus=0, environ={"PATH": os.environ["PATH"]}), PARTS)
    return bisect_command(suspects, How(("sh", "-c", script), folder, 0.1, **more), symptom)  # type: ignore[arg-type]


def test_a_folder_with_another_bisect_is_left_as_it_is_and_each_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first = bisected(folder, "test -z $BAD")
    other = bisected(folder, "test -z $GOOD")
    assert [one.guilty for one in (first, other)] == [((PARTS[1],),), ((PARTS[0],),)]
    assert (first.report["folder"], other.report["folder"]) == (str(folder), str(tmp_path / "runs-2"))
    assert bisected(folder, "test -z $GOOD").trials == other.trials
    again = bisected(folder, "test -z $BAD")
    assert again.trials == first.trials
    assert str(first) == first.sentence
    assert f"{len(first.trials)} runs of an earlier start count here. If the program has changed" in str(again)


def test_where_no_suspect_is_to_blame_it_is_told_how_the_program_fails_by_itself(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    told = str(bisected(place, "echo no such file; exit 3"))
    output = os.path.relpath(place / "001" / "output.txt")
    assert f"note: Without any of the suspects: exit code 3: no such file. Its output: {output}" in told
    untimed = str(bisected(tmp_path / "others", "true", Symptom("slower", 0.5)))
    assert "note: Without any of the suspects: No Python process of the command could be watched" in untimed
    assert "note" not in str(bisected(tmp_path / "fine", "true"))


@pytest.mark.parametrize("undone", [False, True])
def test_a_program_that_drops_what_is_suspected_is_told(
    undone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a run without the suspects is one that takes them back, as after an upgrade."""
    part, flag = atom("xla_cpu_enable_fast_math=false"), atom("xla_cpu_enable_fast_math=true")
    plain = space(gpus=0)
    suspects = Suspects(plain, (part,), {part: frozenset([flag])}) if undone else Suspects(plain, (flag,))
    compiled = Process(1, "", settings={"XLA_FLAGS": ""}, compilations=(Compilation("f", 1.0, 0.1, cached=False),))
    outcome = RunOutcome("ok", "", ("x",), str(tmp_path), exit_code=0, processes=(compiled,))
    monkeypatch.setattr(bisect, "run_watched", lambda *_, **__: outcome)
    found = bisect_command(suspects, How(("x",), tmp_path / "runs", 0.1), Symptom())
    said = (
        "warning: Suspects are lost: the program sets XLA_FLAGS itself, which drops --xla_cpu_enable_fast_math=true. In"
    )
    assert said in str(found)


def test_slower_goes_by_the_metric_of_runs_that_finish(tmp_path: Path) -> None:
    """The number says one thing and the time of the run the opposite."""
    script = 'echo "took $((10 + 10 * ${BAD:-0}))"; sleep 0.$((2 - ${BAD:-0})); touch "$JAXGPU_TUNE_RUN_DIR/finished"'
    told = {**GIVEN, "whole": True, "metric": r"took (\d+)"}
    how = how_of(("x",), told, tmp_path)
    assert (how.clock, how.whole) == ("metric", True)
    assert how_of(("x",), {**GIVEN, "whole": True}, tmp_path).clock == "whole"
    found = bisected(tmp_path / "runs", script, Symptom("slower", 0.5), clock="metric", whole=True, metric=how.metric)
    assert found.guilty == ((PARTS[1],),)
    assert found.confirmed
    assert len(list(tmp_path.glob("runs/*/files/finished"))) == len(found.trials)


@pytest.mark.parametrize(
    ("without", "with_it", "share"),
    [
        pytest.param("n == 1 ? 20 : 10", 20, 0.5, id="the first run is slow"),
        pytest.param("n > 2 ? 14 : 10", 15, 0.4, id="the machine gets slower"),
    ],
)
def test_slower_is_told_from_what_a_run_takes_without_the_suspects(
    without: str, with_it: int, share: float, tmp_path: Path
) -> None:
    """The ``n``-th of these. One slow run of them hides nothing, and those that confirm the answer do not change it."""
    count = tmp_path / "count"
    script = (
        f'if test $BAD; then echo "took {with_it}"; exit; fi; if test $GOOD; then echo "took 10"; exit; fi; '
        f'echo one >> {count}; n=$(wc -l < {count}); echo "took $(({without}))"'
    )
    found = bisected(tmp_path / "runs", script, Symptom("slower", share), clock="metric", metric=r"took (\d+)")
    assert found.guilty == ((PARTS[1],),) and found.confirmed
    again = bisected(tmp_path / "runs", script, Symptom("slower", share), clock="metric", metric=r"took (\d+)")
    assert (again.trials, again.confirmed) == (found.trials, True)


def test_what_is_slower_is_not_looked_for_where_the_program_has_no_time_by_itself(tmp_path: Path) -> None:
    """One run is enough to know that, and it is said."""
    found = bisected(tmp_path / "runs", "test $BAD", Symptom("slower", 0.5), clock="whole", whole=True)
    assert len(found.trials) == 1 and not found.confirmed
    assert "without the suspects no time of it was measured" in found.sentence


def test_what_shows_a_symptom(tmp_path: Path) -> None:
    """Each by its own sign, and by no other: how it ended, its numbers, its exit code, its output, or its time."""
    (tmp_path / "output.txt").write_text("step 3: loss 7.5\n")
    well = RunOutcome("ok", "", ("x",), "", exit_code=0, output=str(tmp_path / "output.txt"), losses=(1.0, 2.0))
    died = well._replace(status="died", exit_code=3, output=None)
    signs = {
        Symptom("fails"): [died, well._replace(status="hang")],
        Symptom("nan"): [
            well._replace(status="nan"),
            well._replace(losses=(1.0, math.nan)),
            well._replace(losses=(math.inf,)),
        ],
        Symptom("exit", 3): [died],
        Symptom("exit", 0): [well, well._replace(losses=(math.nan,))],
        Symptom("output", r"loss 7\.\d"): [well],
    }
    every = [*dict.fromkeys(one for some in signs.values() for one in some), well._replace(complete=True, output=None)]
    for symptom, shown in signs.items():
        found = [one for one in every if _shows(symptom, one, (), None, 1.0)]
        assert set(shown) <= set(found), symptom
    assert not any(_shows(one, well._replace(complete=True, output=None), (), None, 1.0) for one in signs)
    assert not _shows(Symptom("nan"), well._replace(losses=(math.nan, 1.0)), (2.0,), None, 1.0)  # it came back
    assert _shows(Symptom("nan"), well, (2.0, -math.inf), None, 1.0)
    assert not _shows(Symptom("exit", 7), died, (), None, 1.0) and not _shows(
        Symptom("output", "other"), well, (), 9, 1
    )
    times = [_shows(Symptom("slower", 0.5), well, (), ms, 2.0) for ms in (None, 2.9, 3.0, 3.1)]
    assert times == [False, False, True, True]
