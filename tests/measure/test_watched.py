"""What observers wrote, read back: whole reports, half ones, and which process's word counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.watched import Compilation, Process, leading, read_processes


def wrote(folder: Path, number: int, **told: Any) -> Path:
    """The report of one process."""
    place = folder / f"process-{number}"
    place.mkdir()
    (place / "report.json").write_text(json.dumps({"pid": number, **told}))
    return place


def test_a_whole_report_is_read_field_by_field(tmp_path: Path) -> None:
    period = {
        "seconds": 0.5,
        "calls": 4,
        "bursts": 4,
        "pauses": 0,
        "paused_seconds": 0.0,
        "error": 0.1,
        "values": [0.5],
    }
    place = wrote(
        tmp_path,
        7,
        state="done",
        argv=["train.py", "-x"],
        rank=1,
        clock="calls",
        function="step",
        functions=[{"name": "add", "calls": 26}, {"name": "step", "calls": 3}],
        period=period,
        window_s=[1.0, 2.0],
        compiles=[
            ["step", 1.0, 2.5, False],
            ["step", 2.0, 0.5, False],
            ["init", 2.5, 4.0, True],
            ["step", 3.0, 1.0, True],
        ],
        devices=[{"id": 0, "peak_bytes": 5}, {"id": 1, "peak_bytes": 9}, {"id": 2}],
        trace={"path": "/t", "why_not": "late"},
        kinds=["loop"],
        jax=None,
        now_s=12.0,
        unknown="ignored",
    )
    (place / "observer.log").write_text(" trouble \n")
    (one,) = read_processes(tmp_path)
    assert (one.pid, one.folder, one.state, one.argv, one.rank) == (7, str(place), "done", ("train.py", "-x"), 1)
    assert (one.clock, one.function, one.window_s, one.kinds, one.jax) == ("calls", "step", (1.0, 2.0), ("loop",), None)
    assert one.calls == 3
    assert one.period == Period(0.5, 4, 4, 0, 0.0, 0.1, (0.5,))
    assert one.compilations[0] == Compilation("step", 1.0, 2.5, False)
    assert (len(one.compiled), one.compile_seconds, one.recompiled) == (2, 3.0, (one.compilations[1],))
    assert one.peak_bytes == 9
    assert (one.trace, one.why_not_traced) == ("/t", "late")
    assert (one.troubles, one.seconds) == ("trouble", 12.0)


def test_what_cannot_be_read_is_left_out_and_what_is_not_told_is_unknown(tmp_path: Path) -> None:
    for number, text in enumerate(("", "[]", '{"pid":', "{}")):
        (wrote(tmp_path, number) / "report.json").write_text(text)
    (tmp_path / "process-9").mkdir()
    wrote(tmp_path, 5)
    (one,) = read_processes(tmp_path)
    assert one == Process(5, str(tmp_path / "process-5"))
    assert (one.peak_bytes, one.compile_seconds, one.recompiled) == (None, 0.0, ())
    assert read_processes(tmp_path / "gone") == ()


def test_processes_come_in_order_of_rank_those_without_one_last(tmp_path: Path) -> None:
    for pid, rank in ((1, None), (2, 1), (3, 0), (4, None)):
        wrote(tmp_path, pid, rank=rank)
    assert [one.pid for one in read_processes(tmp_path)] == [3, 2, 1, 4]


RAN = Process(1, "", clock="calls")


@pytest.mark.parametrize(
    ("ranks", "counted"), [((0, 1), (0,)), ((None, None), (None, None)), ((1, None), (1, None)), ((), ())]
)
def test_rank_0_counts_or_else_all_that_ran_steps(
    ranks: tuple[int | None, ...], counted: tuple[int | None, ...]
) -> None:
    idle = Process(9, "", rank=0)
    processes = [*(RAN._replace(rank=rank) for rank in ranks), idle]
    assert tuple(one.rank for one in leading(processes)) == counted
    assert leading([idle._replace(steps=3)]) == (idle._replace(steps=3),)
