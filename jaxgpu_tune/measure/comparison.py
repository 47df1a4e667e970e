"""What a comparison found, as values: runs, variants with their verdicts, and all of it with what it was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median, median_low
from typing import Any, Literal

from ..model import Finding
from ..values import EMPTY, Value, jsonable
from .statistics import Verdict, Word

Clock = Literal["marks", "calls", "trace", "metric", "whole", "blocks", ""]


__all__ = ["Comparison", "Variant", "VariantRun"]


class VariantRun(Value):
    """One run of one variant. ``value``: seconds a step (or of the whole run), or the metric; None where it was not measured.

    ``round``: 0 is the reference's first run, which is compared with its second (A/A). ``error``: the standard error of
    ``value`` as a share of it; ``last_words``: the end of the output of one that failed. Times in seconds, memory in bytes.
    """

    variant: str
    round: int
    status: str
    cause: str = ""
    clock: Clock = ""
    value: float | None = None
    error: float | None = None
    seconds: float = 0.0
    steps: int = 0
    first_step_s: float | None = None
    compile_seconds: float | None = None
    peak_bytes: int | None = None
    losses: tuple[float, ...] = ()
    exit_code: int | None = None
    last_words: str = ""


class Variant(Value):
    """One arm. ``verdict``: against the reference (of the reference itself: "no-difference", without a ratio).

    ``ratios``: how many times as fast as the reference, pair by pair. ``cause``: why it failed. ``loss_difference``: the
    largest relative difference of its printed losses from the reference's, over the steps that both printed (None: none seen).
    """

    name: str
    verdict: Verdict
    ratios: tuple[float, ...] = ()
    trials: tuple[VariantRun, ...] = ()
    status: str = "ok"
    cause: str = ""
    loss_difference: float | None = None
    settings: Mapping[str, str | None] = EMPTY

    @property
    def value(self) -> float | None:
        """The median of its runs; of the reference without its run against itself, which belongs to no pair."""
        paired = _median([trial.value for trial in self.trials if trial.round])
        return paired if paired is not None else _median([trial.value for trial in self.trials])

    @property
    def compile_seconds(self) -> float | None:
        """Median seconds of compilation in a run."""
        return _median([trial.compile_seconds for trial in self.trials])

    @property
    def first_step_s(self) -> float | None:
        """Median seconds from the start of the process to the end of its first step."""
        return _median([trial.first_step_s for trial in self.trials])

    @property
    def peak_bytes(self) -> int | None:
        """The median over its runs of the largest peak memory of a device: one that tries kernels as it compiles takes more."""
        known = [trial.peak_bytes for trial in self.trials if trial.peak_bytes]
        return median_low(known) if known else None


class Comparison(Value):
    """What ``compare`` found; the first of ``variants`` is the reference.

    ``clock``: what the values are: seconds a step by the program's own "marks", by "calls" of ``function`` or by their events in a "trace" (under the tracer), the "metric", seconds of the "whole" run
    with start and compilation, or seconds a call in "blocks" of calls (the Python function). ``noise``: the ratio of the reference to itself, in its first two runs.
    ``caches``: "cold" (every run compiled and tuned anew) or "warm" (all took compiled programs from one cache). ``ended``: why it
    ended: "complete", "futile", "budget", "interrupted", "failed". ``command``: what repeats it.
    """

    variants: tuple[Variant, ...]
    clock: Clock
    ended: str
    function: str = ""
    noise: float | None = None
    higher_is_better: bool = False
    percentile: float | None = None
    caches: str = ""
    findings: tuple[Finding, ...] = ()
    machine: Mapping[str, Any] = EMPTY
    command: str = ""
    began: str = ""
    seconds: float = 0.0

    @property
    def reference(self) -> Variant:
        """The first."""
        return self.variants[0]

    @property
    def best(self) -> Variant:
        """Of the variants beside the reference the one with the largest ratio; the reference's own if no other was measured."""
        others = self.variants[1:]
        measured = [variant for variant in others if variant.verdict.ratio is not None]
        return max(measured, key=lambda variant: variant.verdict.ratio or 0.0, default=(others or self.variants)[0])

    @property
    def winner(self) -> Variant:
        """The variant to use: the fastest of those that were shown to be faster, else the reference."""
        return self.best if self.best.verdict.word == "faster" else self.reference

    @property
    def verdict(self) -> Word:
        """``best``'s: "faster", "slower", "no-difference" or "failed"."""
        return self.best.verdict.word

    @property
    def ratios(self) -> tuple[float, ...]:
        """``best``'s: how many times as fast as the reference, pair by pair."""
        return self.best.ratios

    @property
    def interval(self) -> tuple[float, float] | None:
        """``best``'s: smallest to largest ratio; with six pairs it holds the true median with 97 %."""
        return self.best.verdict.interval

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: every run, verdicts in words, machine and versions, and the command that repeats it."""
        found = {**jsonable(self), "verdict": self.verdict, "winner": self.winner.name}
        for told, variant in zip(found["variants"], self.variants, strict=True):
            told["sentence"] = variant.verdict.sentence
        return found

    def __str__(self) -> str:
        from ..render.comparison import comparison_text

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from ..render.comparison import comparison_html

        return comparison_html(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """What an IPython terminal shows."""
        printer.text(str(self))


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
