"""How a comparison goes, on a terminal; where stderr is none, nothing is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..measure.protocol import Listener
from ..measure.watched import Process, leading
from ..render.comparison import value_text
from ..render.waiting import bar, is_watched
from ..wording import rough_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ..measure.comparison import VariantRun


__all__ = ["listener"]


@contextmanager
def listener() -> Iterator[Listener]:
    """What is told of the runs: one line that moves, and a line for each run that is over."""
    if not is_watched():
        yield Listener()
        return
    with bar() as line:
        yield _Shown(line, line.add_task("starting"))


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

    def ends(self, trial: VariantRun) -> None:
        """A line stays for each run."""
        value = trial.cause or value_text(trial.value, trial.clock)
        self._bar.console.print(
            f"pair {trial.round}  {trial.variant}: {value}  ({trial.seconds:.0f} s)", highlight=False
        )
