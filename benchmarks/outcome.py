"""What the suite's results say: step times, ratios with intervals, and how much communication each variant hides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.variants import DEFAULT, LATER, variants_of
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
Run = Mapping[str, Any]
GIB = 2**30
MUCH = 0.2
"""The part of a step that is far more than two machines of one kind differ by."""
PARTS = {"size", "machines", "same", "runs"}


class Ratio(NamedTuple):
    """How many times as fast as the default; ``low`` and ``high``: the extremes over all pairs of a process of each.

    They are alike where there is one pair.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f}" + (f" ({self.low:.3f} to {self.high:.3f})" if self.low < self.high else "")


class Row(NamedTuple):
    """One variant of one workload. ``step_ms`` and ``default_ms``: medians over all pairs of a process of it and one of the default.

    ``compile_seconds``: of the first process. ``flags``: XLA_FLAGS that these processes began with, the default's too.
    ``loss``: after the first steps; ``loss_off``: the largest difference in any of them over all these pairs, as a part of it.
    """

    variant: str
    processes: int
    default_ms: float
    step_ms: float
    speed: Ratio
    compile_seconds: float
    peak_gib: float | None
    loss: float
    loss_off: float
    settings: Mapping[str, str | None]
    flags: str


class Exposed(NamedTuple):
    """Milliseconds a step: by default, of one device's share without communication, and what each variant saves.

    The last by its speed against the default of its own machines; nothing where default and share ran on different machines
    (``apart``) and the communication is no more than machines differ by.
    """

    default_ms: float
    alone_ms: float
    hidden: Mapping[str, float]
    apart: bool

    @property
    def exposed_ms(self) -> float:
        """The communication that computation does not hide."""
        return self.default_ms - self.alone_ms


class Outcome(NamedTuple):
    """All of one kind of machine and release. ``same``: for each workload, variants whose settings are those of another."""

    name: str
    machine: Mapping[str, Any]
    rows: Mapping[str, tuple[Row, ...]]
    exposed: Mapping[str, Exposed]
    same: Mapping[str, Mapping[str, str]]
    failed: tuple[Run, ...]

    @property
    def card(self) -> str:
        """Such as ``2 x NVIDIA H200``."""
        gpus = self.machine["gpus"]
        return f"{len(gpus)} x {gpus[0]['name']}" if gpus else "CPU"

    def row(self, workload: str, variant: str) -> Row | None:
        """What was measured of a variant, or of the one that has the same settings."""
        name = self.same.get(workload, {}).get(variant, variant)
        return next((row for row in self.rows.get(workload, ()) if row.variant == name), None)


def outcomes(folder: Path) -> list[Outcome]:
    """One for each file of full-sized results, by name."""
    found = [(path.stem.removeprefix("suite-"), read(path)) for path in folder.glob("suite-*.json")]
    return [outcome_of(name, results) for name, results in sorted(found) if results["size"] == "full"]


def read(path: Path) -> dict[str, Any]:
    """A file of results. Ends the program in words if it is damaged."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path} is damaged ({error}): mend it, or move it away to measure anew") from error
    if not isinstance(found, dict) or not found.keys() >= PARTS:
        raise SystemExit(f"{path} is damaged: it must be an object with {', '.join(sorted(PARTS))}; move it away")
    return found


def cause(run: Run) -> str:
    """Why a run failed: the exception that it ended with, else the last line of what it said."""
    lines = str(run["error"]).strip().splitlines()
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return (raised or lines)[-1][-300:]


def without_root(text: str) -> str:
    """What a failed run said, with paths from the repository's root: results name no path of a machine."""
    return text.replace(f"{ROOT}/", "")


def outcome_of(name: str, results: Mapping[str, Any]) -> Outcome:
    """The numbers of one file."""
    good = [run for run in results["runs"] if "error" not in run]
    rows = {workload: tuple(_rows(workload, good)) for workload in WORKLOADS}
    exposed = {workload: found for workload in WORKLOADS if (found := _exposed(workload, good, rows[workload]))}
    failed = tuple(run for run in results["runs"] if "error" in run)
    measured = {workload: these for workload, these in rows.items() if these}
    return Outcome(name, results["machines"][0], measured, exposed, results["same"], failed)


def _rows(workload: str, runs: list[Run]) -> Iterator[Row]:
    """Of every variant that has a default beside it."""
    here = [run for run in runs if run["workload"] == workload and not run["alone"]]
    default = [run for run in here if run["variant"] == DEFAULT]
    for variant in dict.fromkeys(run["variant"] for run in here):
        these = [run for run in here if run["variant"] == variant]
        pairs = _pairs(default, these) if variant != DEFAULT else [(run, run) for run in these]
        if pairs:
            yield _row(variant, pairs)


def _row(variant: str, pairs: list[tuple[Run, Run]]) -> Row:
    these = list({id(after): after for _, after in pairs}.values())
    times = [(step_ms(before), step_ms(after)) for before, after in pairs]
    ratios = [before / after for before, after in times]
    peaks = [peak for run in these for peak in run["peak_bytes"] if peak]
    return Row(
        variant=variant,
        processes=len(these),
        default_ms=median(before for before, _ in times),
        step_ms=median(after for _, after in times),
        speed=Ratio(median(ratios), min(ratios), max(ratios)),
        compile_seconds=these[0]["compile_seconds"],
        peak_gib=max(peaks) / GIB if peaks else None,
        loss=these[0]["losses"][-1],
        loss_off=max(_off(before, after) for before, after in pairs),
        settings=these[0]["settings"],
        flags=these[0].get("flags", ""),
    )


def _pairs(default: list[Run], these: list[Run]) -> list[tuple[Run, Run]]:
    """Of a process of the default and one of the variant, on the same machine and begun with the same flags."""
    return [(d, t) for d in default for t in these if _place(d) == _place(t)]


def _place(run: Run) -> tuple[int, str]:
    return run["machine"], run.get("flags", "")


def _off(default: Run, run: Run) -> float:
    return max(abs(after / before - 1) for before, after in zip(default["losses"], run["losses"], strict=True))


def step_ms(run: Run) -> float:
    """The median of a process's windows."""
    return median(run["step_ms"])


def _exposed(workload: str, runs: list[Run], rows: tuple[Row, ...]) -> Exposed | None:
    mine = [run for run in runs if run["workload"] == workload]
    alone = [run for run in mine if run["alone"]]
    default = [run for run in mine if run["variant"] == DEFAULT and not run["alone"]]
    if not alone or not default:
        return None
    beside = _pairs(default, alone)
    default_ms = median(step_ms(run) for run, _ in beside) if beside else median(map(step_ms, default))
    told = {one.name for one in variants_of(WORKLOADS[workload]) if one.worth < LATER} - {DEFAULT}
    saved = {row.variant: default_ms * (1 - 1 / row.speed.value) for row in rows if row.variant in told}
    alone_ms = median(map(step_ms, alone))
    much = default_ms - alone_ms > MUCH * default_ms
    return Exposed(default_ms, alone_ms, saved if beside or much else {}, not beside)
