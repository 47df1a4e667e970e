"""What the suite's results say: step times, ratios with intervals, and how much communication each variant hides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.variants import DEFAULT
from benchmarks.workloads import WORKLOADS

Run = Mapping[str, Any]
GIB = 2**30


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
    ``loss``: after the first steps; ``loss_off``: the largest difference to the default's in any of them, as a part of it.
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

    The last by its speed against the default on the same machine.
    """

    default_ms: float
    alone_ms: float
    hidden: Mapping[str, float]

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
        return dict(json.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise SystemExit(f"{path} is damaged ({error}): mend it, or move it away to measure anew") from error


def cause(run: Run) -> str:
    """Why a run failed: the exception that it ended with, else the last line of what it said."""
    lines = str(run["error"]).strip().splitlines()
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return (raised or lines)[-1][-300:]


def outcome_of(name: str, results: Mapping[str, Any]) -> Outcome:
    """The numbers of one file."""
    good = [run for run in results["runs"] if "error" not in run]
    rows = {workload: tuple(_rows(workload, good)) for workload in WORKLOADS}
    exposed = {workload: found for workload in WORKLOADS if (found := _exposed(workload, good, rows[workload]))}
    failed = tuple(run for run in results["runs"] if "error" in run)
    measured = {workload: these for workload, these in rows.items() if these}
    return Outcome(name, results["machines"][0], measured, exposed, results["same"], failed)


def _rows(workload: str, runs: list[Run]) -> Iterator[Row]:
    """Of every variant that has a default on its machine."""
    here = [run for run in runs if run["workload"] == workload and not run["alone"]]
    default = [run for run in here if run["variant"] == DEFAULT]
    comparable = [run for run in here if any(run["machine"] == one["machine"] for one in default)]
    for variant in dict.fromkeys(run["variant"] for run in comparable):
        these = [run for run in comparable if run["variant"] == variant]
        pairs = _pairs(default, these) if variant != DEFAULT else [(step_ms(run), step_ms(run)) for run in these]
        peaks = [peak for run in these for peak in run["peak_bytes"] if peak]
        yield Row(
            variant=variant,
            processes=len(these),
            default_ms=median(before for before, _ in pairs),
            step_ms=median(after for _, after in pairs),
            speed=_speed(pairs),
            compile_seconds=these[0]["compile_seconds"],
            peak_gib=max(peaks) / GIB if peaks else None,
            loss=these[0]["losses"][-1],
            loss_off=max(abs(a / b - 1) for a, b in zip(these[0]["losses"], default[0]["losses"], strict=True)),
            settings=these[0]["settings"],
            flags=these[0].get("flags", ""),
        )


def step_ms(run: Run) -> float:
    """The median of a process's windows."""
    return median(run["step_ms"])


def _pairs(default: list[Run], these: list[Run]) -> list[tuple[float, float]]:
    """Step times of the default and of the variant, of all pairs of processes on the same machine."""
    return [(step_ms(d), step_ms(t)) for d in default for t in these if d["machine"] == t["machine"]]


def _speed(pairs: list[tuple[float, float]]) -> Ratio:
    ratios = [before / after for before, after in pairs]
    return Ratio(median(ratios), min(ratios), max(ratios))


def _exposed(workload: str, runs: list[Run], rows: tuple[Row, ...]) -> Exposed | None:
    alone = [run for run in runs if run["workload"] == workload and run["alone"]]
    if not alone or not rows:
        return None
    default = next(row for row in rows if row.variant == DEFAULT).step_ms
    hidden = {row.variant: default * (1 - 1 / row.speed.value) for row in rows if row.variant != DEFAULT}
    return Exposed(default, median(map(step_ms, alone)), hidden)
