"""A search over a command: what is tried, what tells it from another one, and the files that it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import Step, Trial
from jaxgpu_tune.measure.tuning.how import How
from jaxgpu_tune.measure.tuning.journal import Journal
from jaxgpu_tune.measure.tuning.space import candidate_of
from jaxgpu_tune.measure.tuning.tune import SearchWanted, about, files_of, space_here, tune_with, write_files
from jaxgpu_tune.measure.tuning.tuned import search_preset, tuned
from jaxgpu_tune.model import Machine, Setting
from jaxgpu_tune.planning.request import make_request
from tests.measure.tuning.test_drive import ABOUT, H200, Solver, searched, space


def test_a_folder_is_no_name_of_a_preset_file(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"it is a folder\. Give a file, such as .*tuned\.toml"):
        files_of(tmp_path)


def test_the_answer_is_a_preset_that_is_used_here_and_nowhere_else(tmp_path: Path) -> None:
    """Its settings, where they were measured, and the evidence; the page and the report beside it."""
    found, files = searched(tmp_path, Solver(0.001, hangs=True))
    write_files(found, files)
    assert found.gain == pytest.approx(1 / 0.72, rel=0.02)
    assert found.interval is not None and 1.3 < found.interval[0] <= found.gain <= found.interval[1]
    assert found.settings == ("--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL",)
    here = jaxgpu_tune.plan(str(files.preset), environ={}, machine=H200, probe=False)
    assert here.xla_flags == found.settings[0]
    elsewhere = jaxgpu_tune.plan(str(files.preset), environ={}, machine={**H200, "jaxlib": "0.12.0.1"}, probe=False)
    assert elsewhere.xla_flags == ""
    told = json.loads(files.report.read_text())
    assert len(told["trials"]) == len(found.trials) == Journal(files.journal, ABOUT).trials.__len__()
    assert "<svg" in files.page.read_text() and "loops-in-graphs" in files.page.read_text()
    assert "1.3" in str(found) and "loops-in-graphs" in str(found)
    assert "times as fast as what you have" in search_preset(found.report)


def test_where_nothing_helps_that_is_the_answer_and_no_preset_is_written(tmp_path: Path) -> None:
    class Flat(Solver):
        def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:
            return super().__call__(Step(frozenset(), step.purpose), number, limit)._replace(config=step.config)

    found, files = searched(tmp_path, Flat(0.001))
    write_files(found, files)
    assert found.sentence.startswith("Nothing beats what you have")
    assert (found.path, found.gain, found.interval) == (None, 1.0, None)
    assert files.report.exists() and not files.preset.exists()


def test_the_files_stand_beside_the_preset(tmp_path: Path) -> None:
    files = files_of(tmp_path / "my.tuned.toml")
    assert [path.name for path in files] == ["my.tuned.toml", "my.tuned.json", "my.tuned.html", "my.tuned.runs"]
    assert files.journal == files.folder / "journal.jsonl"


def test_only_the_users_own_are_tried_where_that_is_asked_for() -> None:
    """Nothing of ours, not even among what is left out."""
    request = make_request()._replace(machine=Machine.from_dict(H200))
    own = candidate_of("mine", [Setting("xla_flag", "xla_gpu_graph_min_graph_size", "7", "asked for", "--try")])
    only = space_here(request, SearchWanted(candidates=(own,), only=True), {})
    assert [only.name(move.config) for move in only.moves] == ["mine"] and len(only.starts) == 1
    assert only.left_out == ()
    all_ = space_here(request, SearchWanted(candidates=(own,)), {})
    assert {"mine", "loops-in-graphs"} < {all_.name(move.config) for move in all_.moves} and len(all_.starts) > 1


def test_a_search_is_another_one_where_what_is_tried_or_how_it_is_judged_differs(tmp_path: Path) -> None:
    """Not where it may only take longer."""
    how = How(("python", "train.py"), tmp_path)
    told = about(space(), how)
    assert json.loads(json.dumps(told)) == told and told["command"] == ["python", "train.py"]
    assert told["jaxlib"] == "0.11.2" and told["gpus_seen"] == ["NVIDIA H200"]
    assert about(space(), how._replace(timeout=9.0, early=False)) == told
    for other in (how._replace(seconds=1.0), how._replace(tolerance=0.5), how._replace(command=("x",))):
        assert about(space(), other) != told
    assert about(space("loops"), how)["tried"] != told["tried"]


def test_an_answer_is_written_whole_and_without_a_proof_there_is_no_preset(tmp_path: Path) -> None:
    """What was there before is replaced; no part of a file is left."""
    files = files_of(tmp_path / "t.toml")
    files.report.write_text("old")
    search = Search(space().starts, space().moves, space().risk)
    write_files(tuned(search, space(), str(files.preset), ABOUT), files)
    assert json.loads(files.report.read_text())["answer"] == "Nothing was measured yet."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.html", "t.json"]


def test_a_search_without_a_gpu_says_why_next_to_nothing_is_tried(tmp_path: Path) -> None:
    """Where GPUs are, or are not known of, nothing is said."""
    for gpus, codes in (([], ["no-gpu"]), (H200["gpus"], []), (None, [])):
        place = make_request()._replace(machine=Machine.from_dict({**H200, "gpus": gpus}))
        small = space_here(place, SearchWanted(only=True), {})
        found = tune_with(
            small, Solver(0.001), files_of(tmp_path / f"{len(codes)}{gpus}"[:9] / "t.toml"), {}, (1.0, None)
        )
        assert [one["code"] for one in found.report["findings"]] == codes
