"""What a watched process leaves behind: whole files, and no word to the program where they cannot be written."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from threading import Thread

import pytest  # noqa: TC002 - as every test

from jaxgpu_tune.measure.observer.run_folder import Notes, process_folder, read_request


def test_each_process_of_each_host_has_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "a.host-1")
    assert process_folder("/runs") == f"/runs/process-a-host-1-{os.getpid()}"


def test_what_is_asked_is_read_and_nothing_where_it_cannot_be(tmp_path: Path) -> None:
    assert read_request(str(tmp_path)) == {}
    for text, asked in (('{"a": 1}', {"a": 1}), ("[", {}), ("", {}), ("[1]", {}), ("5", {})):
        (tmp_path / "request.json").write_text(text)
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


def test_who_reads_while_it_is_written_sees_a_whole_report(tmp_path: Path) -> None:
    """Whoever writes, however often."""
    notes = Notes(str(tmp_path))
    notes.write({"n": 0, "filling": ""})
    reports = [{"n": n, "filling": "x" * 9999} for n in range(40)]
    writers = [Thread(target=lambda: list(map(notes.write, reports))) for _ in range(2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        json.loads((tmp_path / "report.json").read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
