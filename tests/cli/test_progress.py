"""What a terminal sees of a comparison while it runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jaxgpu_tune.cli import progress
from jaxgpu_tune.measure.protocol import Listener
from jaxgpu_tune.measure.watched import Process
from tests.render.comparisons import trial


class Bar:
    """The line that moves, and those that stay."""

    def __init__(self) -> None:
        self.line, self.lines = "", list[str]()
        self.console = SimpleNamespace(print=lambda text, **_: self.lines.append(text))

    def update(self, task: Any, description: str) -> None:
        assert task == 7
        self.line = description


def test_the_line_says_who_runs_and_what_it_is_at() -> None:
    bar: Any = Bar()
    shown = progress._Shown(bar, bar and 7)  # type: ignore[arg-type]
    shown.begins("fsdp", 0, 6, None)
    assert bar.line == "fsdp (first run)"
    shown.begins("fsdp", 2, 6, 3600.0)
    assert bar.line.startswith("fsdp (pair 2 of 6, about ") and bar.line.endswith(" left)")
    begun = bar.line
    shown.sees(())
    assert bar.line == f"{begun}: starting"
    running = Process(1, "", state="measuring", clock="marks", steps=12)
    shown.sees((Process(2, ""), running))
    assert bar.line == f"{begun}: measuring, 12 steps"


def test_a_line_stays_for_each_run() -> None:
    """With its time, or why it has none."""
    bar: Any = Bar()
    shown = progress._Shown(bar, bar and 7)  # type: ignore[arg-type]
    shown.ends(trial("fsdp", 3, 0.0125, seconds=61.4))
    shown.ends(trial("fsdp", 4, None, cause="it died"))
    assert bar.lines == ["pair 3  fsdp: 12.5 ms  (61 s)", "pair 4  fsdp: it died  (0 s)"]


@pytest.mark.parametrize("watched", [True, False])
def test_where_nobody_watches_nothing_is_shown(watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_watched", lambda: watched)
    with progress.listener() as told:
        assert isinstance(told, progress._Shown) is watched and isinstance(told, Listener)
        told.begins("fsdp", 1, 6, None)
