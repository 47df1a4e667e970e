"""The next run, started while one is measured: it imports, and waits before its first device.

Starting Python and importing JAX and its libraries is a third of a short run. It needs no GPU, so it is done beside the
run before; it is stopped where that one takes its steps, if it is not waiting by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ..runs import RunOutcome
from ..search.trials import Config
from ..starting import StartedRun, discard, is_held, pause, release, used_cuda
from ..watched import DONE, Process

__all__ = ["Early"]

STILL, AGAIN = 20.0, 10.0
"""Seconds. A run that takes no step for STILL may be held up by the one that waits beside it, which may have a lock, say: that one is ended.
If the run takes steps again within AGAIN, it was held up."""

BEFORE = ("no jax", "waiting")
"""States of a process that has no steady state yet."""


class _Waiting(NamedTuple):
    """``late``: it was started when the run that is measured had begun already, which may have taken small steps of its preparations."""

    number: int
    config: Config
    started: StartedRun
    late: bool


class Early:
    """At most one command that waits. Only programs of one process are started early: not before the first run is seen to compile in one."""

    def __init__(self) -> None:
        self._waiting: _Waiting | None = None
        self._planned: Callable[[bool], _Waiting] | None = None
        self._fits: bool | None = None
        self._paused = False
        self._over = self._stands = False
        self._taken = 0
        self._progress: object = None
        self._moved = self._freed = 0.0

    def prepare(self, number: int, config: Config, begin: Callable[[Config, int, bool], StartedRun]) -> None:
        """Start run ``number`` as far as it goes without a device, as soon as it is known that the program is of one process."""
        self._planned = lambda late: _Waiting(number, config, begin(config, number, True), late)
        self._begin(late=False)

    def _begin(self, late: bool) -> None:
        if self._planned is not None and self._fits and not self._over and self._waiting is None:
            plan, self._planned, self._paused = self._planned, None, False
            try:
                self._waiting = plan(late)
            except OSError:  # no room for a second process
                self._over = True

    def taken(self, number: int, config: Config) -> StartedRun | None:
        """The command that waits, let go, if it is that run; else it is ended."""
        there, self._planned, self._freed = self._waiting, None, 0.0
        if there is None or (there.number, there.config) != (number, config) or used_cuda(there.started):
            self._over |= there is not None and used_cuda(there.started)
            self.drop()
            return None
        self._waiting, self._taken = None, number
        release(there.started)
        return there.started

    def may_be_why(self, number: int) -> bool:
        """Whether that run may have failed because another one waited beside it: one did, and no run is known to have gone well like that."""
        return not self._stands and (self._taken == number or self._waiting is not None)

    def quiet(self, running: Collection[Process]) -> None:
        """Stop it while the other one takes its steps, unless it sleeps anyway."""
        if self._fits is None and any(one.compilations for one in running):
            self._fits = _is_one_process(running)
            self._begin(late=True)
        self._free(running, time.monotonic())
        there = self._waiting
        if there is None or self._paused or is_held(there.started):
            return
        if any(one.state not in BEFORE if there.late else one.steps for one in running):
            pause(there.started, True)
            self._paused = True

    def _free(self, running: Collection[Process], now: float) -> None:
        """Where the run that is measured stands still, end the one that waits. If it goes on then, none is started early any more."""
        progress = [(one.pid, one.steps, len(one.compilations), one.state) for one in running]
        if progress != self._progress:
            self._over |= self._freed > 0 and now - self._freed < AGAIN
            self._progress, self._moved, self._freed = progress, now, 0.0
        steps = any(one.steps and one.state != DONE for one in running)
        if self._waiting is not None and steps and now - self._moved > STILL:
            self.drop()
            self._freed = time.monotonic()

    def learn(self, number: int, outcome: RunOutcome) -> None:
        """After a run: whether the program is one of a single process, and whether it went well with another one waiting beside it."""
        self._fits, self._planned = _is_one_process(outcome.processes), None
        if not self._fits:
            self.drop()
        self._stands |= outcome.ok and self._taken == number and self._waiting is not None

    def give_up(self) -> None:
        """Nothing is started early any more."""
        self._over = True
        self.drop()

    def drop(self) -> None:
        """End what waits."""
        if self._waiting is not None:
            discard(self._waiting.started)
        self._waiting = None


def _is_one_process(processes: Iterable[Process]) -> bool:
    """Whether one process uses JAX, and by itself."""
    seen = [one for one in processes if one.jax is not None]
    return len(seen) == 1 and seen[0].rank is None and (seen[0].processes or 1) == 1
