"""What takes long says on a terminal what it does; where stderr is none, nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event

    from rich.progress import Progress


__all__ = ["bar", "is_watched", "waiting"]

DELAY = 1.0
"""Seconds after which something counts as long; 0: at once."""


@contextmanager
def waiting(what: str, *, prints: bool = False) -> Iterator[None]:
    """Show ``what`` is done, and for how long already, from DELAY on until it is done; it leaves no trace.

    ``prints``: lines are printed meanwhile, which then stand above it.
    """
    if not is_watched():
        yield
        return
    from threading import Event, Thread

    done = Event()
    shown = Thread(target=_show, args=(what, done, prints), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def is_watched() -> bool:
    """Whether someone sees stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


def bar(*, prints: bool = True) -> Progress:
    """A line on stderr that moves: what is done, and for how long."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=prints, redirect_stderr=prints)


def _show(what: str, done: Event, prints: bool) -> None:
    if DELAY and done.wait(DELAY):
        return
    with bar(prints=prints) as line:
        line.add_task(what)
        done.wait()
