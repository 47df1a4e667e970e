"""Which tests run which lines, seen once and kept: a fault is shown to those tests that can notice it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from .forks import OPTIONS, in_fork, said_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

_monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on

PATIENCE = 900
"""Seconds that one file of tests may take."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A test that passes: how long it takes (of processor time, its children's included), whether it starts processes, and the lines it runs here (a bit each), by module."""

    name: str
    seconds: float
    starts: bool
    lines: dict[str, int]

    @property
    def file(self) -> Path:
        """The file it stands in."""
        return Path(self.name.partition("::")[0])


class Place(NamedTuple):
    """Where a fault is: its module, the test file by the module's name, its lines (a bit each), and whether they only run at import."""

    module: str
    own: Path
    lines: int
    at_import: bool = False


def able(tests: Iterable[Seen], place: Place, seconds: float) -> list[Seen]:
    """The tests that can notice a fault there, as many as take ``seconds``.

    Those that run its line come first, then those of the module's own file, those that run anything of the module, those beside
    or above it that start processes, whose lines are not seen, and the others there, which may read what the module holds.
    What only runs at import no test is seen to run: there all of these come by what they cost, those of the module's own file first.
    """
    ranked = {test: rank for test in tests if (rank := _rank(test, place)) is not None}
    ordered = sorted(ranked, key=lambda test: (ranked[test], test.seconds))
    spent = accumulate(test.seconds for test in ordered)
    return [test for test, until in zip(ordered, spent, strict=True) if until - test.seconds <= seconds]


def _rank(test: Seen, place: Place) -> int | None:
    own = test.file == place.own
    if test.lines.get(place.module, 0) & place.lines:
        return 0 if own else 1
    if own:
        return 2
    if place.module in test.lines and not place.at_import:
        return 3
    beside = place.own.is_relative_to(test.file.parent)
    return None if not beside else 4 if test.starts and not place.at_import else 5


def tests_of(root: Path, folders: Iterable[str], cache: Path) -> list[Seen]:
    """Every quick test of these folders and files of the copy that passes. ``cache``: a folder where what was seen is kept."""
    if _monitoring is None:
        raise SystemExit("Which tests run a line is only seen by Python 3.12 and newer: start this with one.")
    found = []
    for folder in dict.fromkeys(folders):
        for file in [root / folder] if folder.endswith(".py") else sorted((root / folder).rglob("test_*.py")):
            found += _kept(root, str(file.relative_to(root)), cache)
    return list({test.name: test for test in found}.values())


def _kept(root: Path, file: str, cache: Path) -> list[Seen]:
    """What was seen of the file when it and all that it runs read as they do now; else it is seen anew."""
    kept = cache / (file.replace("/", ".") + ".json")
    if kept.exists():
        before = json.loads(kept.read_text())
        if before["digest"] == _digest(root, [file, *before["modules"]]):
            return [Seen(*test) for test in before["tests"]]
    print("looking at", file, flush=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.unlink(missing_ok=True)
    status = in_fork(root, _see, root, file, kept, patience=PATIENCE)
    if not kept.exists():
        raise SystemExit(f"{said_in(root).read_text()}\n{file}: its tests cannot be run in a fork (status {status})")
    return _kept(root, file, cache)


def _digest(root: Path, files: Iterable[str]) -> str:
    return sha256(
        Path(__file__).read_bytes() + b"\0".join((root / file).read_bytes() for file in files if (root / file).exists())
    ).hexdigest()


def _see(root: Path, file: str, kept: Path) -> int:
    """In a fork: run the file's tests, write what was seen."""
    watch = _Watch(root / "jaxgpu_tune")
    status = pytest.main([*OPTIONS, file], plugins=[watch])
    modules = sorted({module for test in watch.tests for module in test.lines})
    tests = [list(vars(test).values()) for test in watch.tests]
    kept.write_text(json.dumps({"digest": _digest(root, [file, *modules]), "modules": modules, "tests": tests}))
    return int(status)


class _Watch:
    """Sees for each test the lines of the package that it runs in this process."""

    def __init__(self, package: Path) -> None:
        self.tests: list[Seen] = []
        self._package, self._above = str(package) + "/", len(str(package.parent)) + 1
        self._lines: dict[str, int] = {}
        self._starts, self._failed = False, False
        sys.addaudithook(self._audit)
        _monitoring.use_tool_id(_monitoring.COVERAGE_ID, "mutate")
        _monitoring.register_callback(_monitoring.COVERAGE_ID, _monitoring.events.LINE, self._line)
        _monitoring.set_events(_monitoring.COVERAGE_ID, _monitoring.events.LINE)

    def _audit(self, event: str, _: object) -> None:
        self._starts |= event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}

    def _line(self, code: CodeType, line: int) -> object:
        if code.co_filename.startswith(self._package):
            module = code.co_filename[self._above :]
            self._lines[module] = self._lines.get(module, 0) | 1 << line
        return _monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._lines, self._starts, self._failed = {}, False, False
        began = sum(os.times()[:4])
        _monitoring.restart_events()
        done = yield
        if not self._failed:
            self.tests.append(Seen(item.nodeid, sum(os.times()[:4]) - began, self._starts, self._lines))
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= not report.passed
