"""How a program is run and judged, by `tune` and by `bisect`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal, NamedTuple

from ...knowledge.candidates import autotuning
from ..compare import kept_in
from ..runs import Asked
from ..search.trials import Config
from ..starting import OUTPUT

__all__ = ["Clock", "How", "caches", "output_of", "shorten"]

Clock = Literal["steps", "metric", "whole"]
ENDS = 1_000_000
"""Bytes of a run's output that are kept, of its beginning and of its end."""


class How(NamedTuple):
    """How a program is run and judged.

    ``seconds``: of steady state to measure; ``clock``: "steps" (the program's own steps), "metric" (numbers in the output that ``metric`` finds) or
    "whole" (all of the run); ``whole``: each run finishes; ``numbers``: what finds the numbers to compare, by default each loss; ``tolerance``: relative. ``early``: the
    next run may import and wait while one is measured, and candidates may run side by side.
    """

    command: tuple[str, ...]
    folder: Path
    seconds: float = 3.0
    clock: Clock = "steps"
    metric: str | None = None
    higher_is_better: bool = False
    numbers: str | None = None
    tolerance: float = 0.01
    timeout: float | None = None
    early: bool = True
    whole: bool = False

    @property
    def asked(self) -> Asked:
        """What is to be seen of a run."""
        return Asked(seconds=self.seconds, whole=self.whole, metric=self.metric)

    def run_folder(self, number: int) -> Path:
        """The folder of a run, without what a start that was killed left there."""
        place = _run_folder(self.folder, number)
        shutil.rmtree(place, ignore_errors=True)
        return place


def _run_folder(folder: Path, number: int) -> Path:
    return folder / f"{number:03}"


def output_of(folder: Path, number: int) -> Path:
    """What a run printed. ``folder``: that of all runs."""
    return _run_folder(folder, number) / OUTPUT


def shorten(output: Path) -> None:
    """Keep the beginning and the end of what a run printed: a program that prints much would fill the disk, run after run."""
    size = output.stat().st_size if output.exists() else 0
    if size <= 2 * ENDS:
        return
    with output.open("r+b") as file:
        file.seek(size - ENDS)
        end = file.read()
        file.seek(ENDS)
        file.write(f"\n… {size - 2 * ENDS} bytes are left out …\n".encode() + end)
        file.truncate()


def caches(folder: Path, config: Config) -> dict[str, str]:
    """What is compiled and autotuned is kept for the other runs; what chooses kernels anew is not given the others' choices."""
    anew = any(one.name in autotuning() for one in config)
    own = {"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none"} if anew else {}
    return {**kept_in(folder / "compiled"), **own}
