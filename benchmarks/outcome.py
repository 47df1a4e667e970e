"""What the suite's results say: step times, ratios with intervals, and verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.tried import DEFAULT, FILLS, SEVERAL_QUEUES, on
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.statistics import PAIRS, verdict

Run = Mapping[str, Any]
GIB = 2**30
PARTS = {"size", "machines", "same", "runs"}


class Speed(NamedTuple):
    """How many times as fast as the default: the median of the pairs, ``low`` and ``high`` their extremes, and the verdict."""

    value: float
    low: float
    high: float
    word: str

    def __str__(self) -> str:
        return f"{self.value:.3f}" + (f" ({self.low:.3f} to {self.high:.3f})" if self.low < self.high else "")


class Row(NamedTuple):
    """One variant of one workload. ``step_ms`` and ``default_ms``: medians over its pairs of processes.

    ``speed``: what the pairs say; ``word`` is "undecided" where there are fewer of them than a verdict takes, or where they
    did not run in turns (``pairs`` is then the number of processes). ``compile_seconds``: of the first process; ``default_peak_gib``: the
    default's. ``flags``: XLA_FLAGS that these processes began with, the default's too. ``loss_off``: the largest difference
    in any of the first steps' losses, as a part of it.
    """

    variant: str
    pairs: int
    default_ms: float
    step_ms: float
    speed: Speed
    compile_seconds: float
    peak_gib: float | None
    default_peak_gib: float | None
    loss_off: float
    settings: Mapping[str, str | None]
    flags: str


class Outcome(NamedTuple):
    """All of one kind of machine and release; ``machine``: the one with most GPUs. ``same``: for each workload, variants whose settings are those of another."""

    name: str
    machine: Mapping[str, Any]
    rows: Mapping[str, tuple[Row, ...]]
    same: Mapping[str, Mapping[str, str]]
    failed: tuple[Run, ...]
    gpus: Mapping[str, int]

    def card(self, workload: str) -> str:
        """What a workload ran on, such as ``2 x NVIDIA H200``."""
        gpus = self.machine["gpus"]
        return f"{self.gpus[workload]} x {gpus[0]['name']}" if gpus else "CPU"

    def row(self, workload: str, variant: str) -> Row | None:
        """What was measured of a variant, or of the one that has the same settings."""
        name = self.same.get(workload, {}).get(variant, variant)
        return next((row for row in self.rows.get(workload, ()) if row.variant == name), None)


def outcomes(folder: Path) -> list[Outcome]:
    """One for each file of full-sized results, by name: what may be told of it."""
    found = [(path.stem.removeprefix("suite-"), read(path)) for path in folder.glob("suite-*.json")]
    return worth_telling([outcome_of(name, results) for name, results in sorted(found) if results["size"] == "full"])


def worth_telling(measured: Iterable[Outcome]) -> list[Outcome]:
    """The same without what decides nothing; it stays in the files.

    A row stays if a verdict stands behind it, or if it is of a preset on a program that it is for, by two pairs or more; and if no other
    file says more of the same on as many of the same GPUs with the same jaxlib. A program stays with its rows.
    """
    measured = list(measured)
    return [_with_rows(one, lambda name, row, one=one: _tells(measured, one, name, row)) for one in measured]


def _with_rows(outcome: Outcome, keeps: Callable[[str, Row], bool]) -> Outcome:
    kept = {
        name: [row for row in rows if row.variant == DEFAULT or keeps(name, row)] for name, rows in outcome.rows.items()
    }
    rows = {name: tuple(these) for name, these in kept.items() if len(these) > 1}
    variants = {name: {row.variant for row in these} for name, these in rows.items()}
    same = {
        name: {one: other for one, other in outcome.same.get(name, {}).items() if other in variants[name]}
        for name in rows
    }
    return outcome._replace(rows=rows, same=same)


def _tells(measured: Iterable[Outcome], outcome: Outcome, name: str, row: Row) -> bool:
    counts = row.speed.word != "undecided" or (row.pairs > 1 and row.variant in _promised(name))
    others = [one for one in measured if name in one.rows and _where(one, name) == _where(outcome, name)]
    same = [other for one in others for other in one.rows[name] if other.variant == row.variant]
    return counts and all(_weight(other) <= _weight(row) for other in same)


def _promised(workload: str) -> set[str]:
    """Its presets, with their one hardware queue or without: they were measured before that was part of them."""
    presets = WORKLOADS[workload].presets
    return {*presets, *(one.name for preset in presets for one in on(preset, SEVERAL_QUEUES))}


def _where(outcome: Outcome, name: str) -> tuple[str, str]:
    return outcome.card(name), outcome.machine["jaxlib"]


def _weight(row: Row) -> tuple[bool, int]:
    return row.speed.word != "undecided", row.pairs


def read(path: Path) -> dict[str, Any]:
    """A file of results. Ends the program in words if it is damaged."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path} is damaged ({error}): mend it, or move it away to measure anew") from error
    if not isinstance(found, dict) or not found.keys() >= PARTS:
        raise SystemExit(f"{path} is damaged: it must be an object with {', '.join(sorted(PARTS))}; move it away")
    return found


def outcome_of(name: str, results: Mapping[str, Any]) -> Outcome:
    """The numbers of one file."""
    good = [run for run in results["runs"] if "error" not in run]
    rows = {workload: tuple(_rows(workload, good)) for workload in WORKLOADS}
    failed = tuple(run for run in results["runs"] if "error" in run)
    measured = {workload: these for workload, these in rows.items() if these}
    gpus = {run["workload"]: _gpus(run) for run in good if "device" in run and not run.get("alone")}
    largest = max(results["machines"], key=lambda machine: len(machine["gpus"]))
    return Outcome(name, largest, measured, results["same"], failed, gpus)


def _gpus(run: Run) -> int:
    """How many the program used; or saw, where it is about a program that uses the first of them."""
    used = int(run["device"].split(" x ")[0])
    return run["gpus"] if WORKLOADS[run["workload"]].devices == "first" else used


def _rows(workload: str, runs: list[Run]) -> Iterator[Row]:
    """Of every variant that has a default beside it."""
    here = [run for run in runs if run["workload"] == workload and not run.get("alone") and run["round"] != FILLS]
    default = [run for run in here if run["variant"] == DEFAULT]
    for variant in dict.fromkeys(run["variant"] for run in here):
        these = [run for run in here if run["variant"] == variant]
        pairs = _pairs(default, these) if variant != DEFAULT else [(run, run) for run in these]
        if pairs:
            yield _row(variant, pairs)


def _row(variant: str, pairs: list[tuple[Run, Run]]) -> Row:
    times = [(step_ms(before), step_ms(after)) for before, after in pairs]
    processes = [len({id(pair[side]) for pair in pairs}) for side in (0, 1)]
    after = pairs[0][1]
    return Row(
        variant=variant,
        pairs=min(processes),
        default_ms=median(before for before, _ in times),
        step_ms=median(after for _, after in times),
        speed=_speed([before / after for before, after in times], min(processes)),
        compile_seconds=after["compile_seconds"],
        peak_gib=_peak(after for _, after in pairs),
        default_peak_gib=_peak(before for before, _ in pairs),
        loss_off=max(_off(before, after) for before, after in pairs),
        settings=after["settings"],
        flags=after.get("flags", ""),
    )


def _speed(ratios: list[float], pairs: int) -> Speed:
    """The rule of ``jaxgpu_tune compare``; too few pairs decide nothing."""
    found = verdict(ratios)
    assert found.ratio is not None
    assert found.interval is not None
    decided = len(ratios) == pairs >= PAIRS
    return Speed(found.ratio, *found.interval, found.word if decided else "undecided")


def _peak(runs: Iterable[Run]) -> float | None:
    """The median over processes of the GPU that holds most; the first one, which tries kernels as it compiles, holds more."""
    peaks = [max(run["peak_bytes"]) for run in runs if all(run["peak_bytes"])]
    return median(peaks) / GIB if peaks else None


def _pairs(default: list[Run], these: list[Run]) -> list[tuple[Run, Run]]:
    """Of a process of the default and one of the variant that ran in turns, on the same GPUs and begun with the same flags.

    Results of before there were turns: every such process with every other.
    """
    return [(d, t) for d in default for t in these if _place(d) == _place(t)]


def _place(run: Run) -> tuple[Any, ...]:
    turn = (run["turn"], run["round"], run["lane"]) if "turn" in run else ()
    return (run["machine"], run.get("flags", ""), *turn)


def _off(default: Run, run: Run) -> float:
    return max(abs(after / before - 1) for before, after in zip(default["losses"], run["losses"], strict=True))


def step_ms(run: Run) -> float:
    """The median of a process's windows."""
    return median(run["step_ms"])


class Tally(NamedTuple):
    """Programs and workloads on which a preset is faster, level or slower by the rule; each with its speed."""

    faster: tuple[str, ...]
    level: tuple[str, ...]
    slower: tuple[str, ...]


def tally(preset: str, outcome: Outcome) -> Tally:
    """Of all workloads on which it was measured and sets something; what is not decided does not count."""
    found: dict[str, list[str]] = {"faster": [], "no-difference": [], "slower": []}
    for workload in outcome.rows:
        row = outcome.row(workload, preset)
        counts = row is not None and row.variant != DEFAULT and WORKLOADS[workload].until == "steps"
        if row is not None and counts and row.speed.word in found:
            found[row.speed.word].append(f"{WORKLOADS[workload].title} {row.speed.value:.2f}")
    return Tally(*(tuple(these) for these in found.values()))
