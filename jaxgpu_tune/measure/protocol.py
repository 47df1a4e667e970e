"""What a comparison is asked: its variants, how it is measured, and who is told how it goes."""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Finding
from ..values import EMPTY, Value
from .comparison import VariantRun
from .statistics import PAIRS
from .watched import Process

__all__ = ["Arm", "Listener", "Protocol"]


class Arm(Value):
    """A variant to run: the complete environment of its processes, and the command with its own interpreter if it has one.

    ``settings``: what it sets beyond the caller's environment, for the record.
    """

    name: str
    environ: Mapping[str, str]
    command: tuple[str, ...]
    settings: Mapping[str, str | None] = EMPTY
    findings: tuple[Finding, ...] = ()


class Protocol(Value):
    """How it is measured. Times in seconds; ``budget`` for all runs together. ``whole``: each run finishes, and unless there is a metric, all its time counts. ``metric``: a regular expression for a number in the output.

    ``percentile``: compare this percentile of the steps' times instead of their mean; the program must wait at each step.
    ``caches``: "cold" or "warm", for all variants alike.
    """

    pairs: int = PAIRS
    seconds: float = 3.0
    whole: bool = False
    metric: str | None = None
    higher_is_better: bool = False
    percentile: float | None = None
    timeout: float | None = None
    budget: float | None = None
    caches: str = "cold"


class Listener:
    """Told how it goes; does nothing by itself. Progress is a subclass."""

    def begins(self, arm: str, number: int, pairs: int, left: float | None) -> None:
        """A run begins, in round ``number`` (0: the reference against itself); about ``left`` seconds are left in all."""

    def sees(self, processes: tuple[Process, ...]) -> None:
        """What the processes of the run reported so far; some ten times a second."""

    def doubts(self, finding: Finding) -> None:
        """What makes a run doubtful while it still goes on."""

    def ends(self, trial: VariantRun) -> None:
        """A run is over."""
