"""What a watched process leaves behind, and its marks; in real programs it is watched by tests/measure."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from jaxgpu_tune.measure.observer import heard_marks
from jaxgpu_tune.measure.observer.program_kind import SMALL, kinds_of
from jaxgpu_tune.measure.observer.run_folder import Notes, process_folder, read_request


def test_each_process_of_each_host_has_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "a.host-1")
    assert process_folder("/runs") == f"/runs/process-a-host-1-{os.getpid()}"


def test_what_is_asked_is_read_and_nothing_where_it_cannot_be(tmp_path: Path) -> None:
    assert read_request(str(tmp_path)) == {}
    for text, asked in (('{"a": 1}', {"a": 1}), ("[", {}), ("", {}), ("[1]", None)):
        (tmp_path / "request.json").write_text(text)
        if asked is not None:
            assert read_request(str(tmp_path)) == asked


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    """And nobody is disturbed by a disk that takes none."""
    notes = Notes(str(tmp_path / "new"))
    notes.write({"a": [1, None]})
    assert json.loads((tmp_path / "new" / "report.json").read_text()) == {"a": [1, None]}
    assert notes.write_file("x", b"y") == str(tmp_path / "new" / "x")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.json", "x"]
    for text in ("one", "two"):
        notes.log(text)
    assert (tmp_path / "new" / "observer.log").read_text() == "one\ntwo\n"
    (tmp_path / "file").touch()
    broken = Notes(str(tmp_path / "file" / "below"))
    broken.write({})
    broken.log("x")
    assert broken.write_file("x", b"") is None


def test_marks_are_counted_and_the_oldest_but_the_first_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for the first is told once."""
    stamps: list[float] = []
    begun: list[str] = []
    monkeypatch.setattr(heard_marks, "stamps", stamps)
    monkeypatch.setattr(heard_marks, "_dropped", [])
    monkeypatch.setattr(heard_marks, "begins", [lambda: begun.append("begun")])
    monkeypatch.setattr(heard_marks, "MOST", 10)
    times = iter(range(1000))
    monkeypatch.setattr(heard_marks, "perf_counter", lambda: float(next(times)))
    for number in range(1, 40):
        heard_marks.mark()
        assert heard_marks.total() == number and stamps[0] == 0.0 and stamps[-1] == number - 1
        assert len(stamps) <= 10 and stamps == sorted(stamps)
    assert begun == ["begun"] and stamps[1:] == [float(one) for one in range(40 - len(stamps), 39)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("%a = f32[] add(x, y)", ()),
        ("%a = all-reduce(x)", ("collectives",)),
        ("%a = all-gather-start(x)", ("collectives",)),
        *((f"%a = {name}(x)", ("collectives",)) for name in ("reduce-scatter", "all-to-all", "collective-permute")),
        ("%w = while(x)", ("loops",)),
        ("%c = convolution(x)", ("convolutions",)),
        ('custom_call_target="__cudnn$convForward"', ("convolutions",)),
        ("%d = dot(x, y)", ("products",)),
        ('custom_call_target="__cublas$lt$matmul"', ("products",)),
        ("gemm_fusion_dot.1", ("products",)),
        ("%f = fusion(x)\n" * SMALL, ("small-kernels",)),
        ("%f = fusion(x)\n" * (SMALL - 1), ()),
        ("%w = while(x)\n%d = dot(x)\n%a = all-reduce(x)", ("collectives", "loops", "products")),
    ],
)
def test_what_kind_of_program_it_is(text: str, kinds: tuple[str, ...]) -> None:
    assert kinds_of(text) == kinds
