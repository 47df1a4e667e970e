"""How a comparison goes, on a terminal; where stderr is none, nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..measure.protocol import Listener
from ..measure.watched import Process, leading
from ..render.comparison import value_text
from ..render.text import findings_text
from ..render.waiting import bar, is_watched
from ..wording import rough_time
from .output import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ..measure.comparison import VariantRun
    from ..model import Finding


__all__ = ["listener"]


@contextmanager
def listener() -> Iterator[Listener]:
    """What is told of the runs: one line that moves, and a line for each run that is over; doubts also where nobody watches."""
    if not is_watched():
        yield _Quiet()
        return
    with bar() as line:
        yield _Shown(line, line.add_task("starting"))


class _Quiet(Listener):
    def doubts(self, finding: Finding) -> None:
        """On stderr."""
        say(findings_text([finding]), sys.stderr)
        sys.stderr.flush()


class _Shown(Listener):
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task, self._run = bar, task, ""

    def begins(self, arm: str, number: int, pairs: int, left: float | None) -> None:
        """The line says who runs, and how long it takes still."""
        of = f"pair {number} of {pairs}" if number else "first run"
        rest = "" if left is None else f", about {rough_time(left)} left"
        self._run = f"{arm} ({of}{rest})"
        self._bar.update(self._task, description=self._run)

    def sees(self, processes: tuple[Process, ...]) -> None:
        """And what its processes are at."""
        at = next((f": {one.state}, {one.steps} steps" for one in leading(processes)), ": starting")
        self._bar.update(self._task, description=self._run + at)

    def doubts(self, finding: Finding) -> None:
        """Above the line that moves."""
        self._bar.console.print(findings_text([finding]), highlight=False, markup=False)

    def ends(self, trial: VariantRun) -> None:
        """A line stays for each run."""
        value = trial.cause or value_text(trial.value, trial.clock)
        self._bar.console.print(
            f"pair {trial.round}  {trial.variant}: {value}  ({trial.seconds:.0f} s)", highlight=False
        )
