"""What is measured on machines with GPUs, one command after the other: what is listed can be typed, and no time is overrun."""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks import campaign
from benchmarks.campaign import Line, lines
from tests.child import ROOT

VALUES = {"left": 100, "out": "folder", "gpus": 8}


@pytest.mark.parametrize("line", lines(), ids=lambda line: line.name)
def test_a_line_names_a_module_of_benchmarks_and_its_options(line: Line) -> None:
    module, *words = line.command(True, **VALUES)
    place = ROOT.joinpath(*module.split("."))
    files = [place.with_suffix(".py")] if place.with_suffix(".py").exists() else sorted(place.glob("*.py"))
    source = "".join(file.read_text() for file in files)
    source += (ROOT / "benchmarks" / "arguments.py").read_text() if "import arguments" in source else ""
    options = {word for word in words if re.fullmatch("--[a-z-]+", word)}
    assert files and "--out" in options and [one for one in options if f'"{one}"' not in source] == []
    assert line.seconds > 0 and line.gpus


def test_names_are_given_once() -> None:
    names = [line.name for line in lines()]
    assert len(set(names)) == len(names)


ENDS = "import sys; open('{out}/file', 'a').write('x'); sys.exit({code})"
WAITS = "import time; open('{out}/file', 'a').write('y'); time.sleep(600)"


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, listed: list[Line], *options: str) -> int:
    """The exit code of a campaign on one GPU with these lines."""
    monkeypatch.setattr(campaign, "lines", lambda: listed)
    monkeypatch.setattr(campaign, "PYTHON", (sys.executable,))
    monkeypatch.setattr(campaign, "GRACE", 1.0)
    monkeypatch.setattr(sys, "argv", ["campaign", "--out", str(folder), "--gpus", "1", *options])
    return campaign.main()


def line(name: str, code: str, seconds: float = 5, gpus: tuple[int, ...] = (1,)) -> Line:
    return Line(name, gpus, seconds, f'-c "{code}"', "")


@pytest.mark.slow
def test_what_there_is_time_for_is_run_in_order_and_its_results_are_packed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A command that fails stops no other; one that takes too long is ended; one of other GPUs is none of this machine's."""
    good, bad = ENDS.replace("{code}", "0"), ENDS.replace("{code}", "3")
    listed = [
        line("bad", bad),
        line("slow", WAITS, 1),
        line("many", good, gpus=(4, 8)),
        line("dear", good, 900),
        line("good", good),
    ]
    assert run(monkeypatch, tmp_path, listed, "--seconds", "60") == 1
    told = capfd.readouterr().out
    assert "failed: bad slow; no time for: dear" in told and "== many" not in told
    assert re.search(r"== bad: \d+ s, exit code 3", told) and "ended, slow has had its 2 s" in told
    with tarfile.open(tmp_path / "campaign.tgz") as packed:
        found = packed.extractfile("campaign/file")
        assert found is not None and found.read() == b"xyx"
        assert "campaign/suite-h200-0.11.2.json" in packed.getnames()


def test_only_what_is_asked_for_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = [
        line("one", ENDS.replace("{code}", "0")),
        line("two", ENDS.replace("{code}", "0")),
        line("many", "", gpus=(4,)),
    ]
    assert run(monkeypatch, tmp_path, listed, "--only", "two", "--dry") == 0
    assert "failed: none; no time for: none" in (told := capfd.readouterr().out) and "== one" not in told
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path, listed, "--only", "tow", "many")
    assert "no line of 1 GPUs is called many, tow. There are: one, two" in capfd.readouterr().err
