"""Make every table and plot of what was measured, from the suite's results: docs/measured.md, and README between its markers.

    python -m benchmarks.tables [--check]

Plots need matplotlib (the extra ``bench``). ``--check`` writes nothing and exits 1 if something is not as it would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import plots
from benchmarks.outcome import Exposed, Outcome, Row, cause, outcomes
from benchmarks.variants import DEFAULT
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
START, END = "<!-- measured: written by `python -m benchmarks.tables` -->", "<!-- /measured -->"
INTRODUCTION = """<!-- Written by `python -m benchmarks.tables`: measure anew with `python -m benchmarks.suite`, do not edit. -->

# What was measured

Every workload is plain JAX, in the repository's folder `benchmarks/workloads`; `python -m benchmarks.suite` measures all of them. Each run is a process of its own, in turns with the default; a step's time is the median over windows of a quarter of a second in which
steps are only waited for at the end. *Speed* is the default's time by the variant's on the same machine: the median over all pairs of
processes, with the smallest and the largest; without them there was one pair. *Default* and *step* are medians over the
same pairs: a row is compared with the default of its own machines, which differ by a few percent. Within one call of the suite a variant is compiled once,
so few ranges hold another choice of kernels. *Compilation* is that of the first process, *loss* the one after ten steps; after it the largest
difference to the default's in any of them, over the same pairs. Kernels chosen by timing and sums in another order can cause it; it was not traced.
"""


def main() -> int:
    """Write what is not up to date, or tell it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would be written")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the suite's results")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of README.md and docs")
    given = parser.parse_args()
    measured = outcomes(given.results)
    stale = stale_texts(given.root, measured)
    drawings = plots.stale(given.root / "docs" / "images", measured)
    for name in (*stale, *drawings):
        print(f"{'not up to date' if given.check else 'written'}: {name}")
    if given.check:
        return 1 if stale or drawings else 0
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path, draw in drawings.items():
        draw(path)
    return 0


def stale_texts(root: Path, measured: list[Outcome]) -> dict[Path, str]:
    """Each file whose text is not as it should be, with the text."""
    gains = root / "jaxgpu_tune" / "knowledge" / "data" / "gains.json"
    wanted = {root / "docs" / "measured.md": page(measured), gains: gains_text(measured)}
    readme = root / "README.md"
    before = readme.read_text("utf-8") if readme.exists() else ""
    if START in before and END in before:
        head, tail = before.split(START)[0], before.split(END)[1]
        wanted[readme] = f"{head}{START}\n{summary(measured)}\n{END}{tail}"
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text}


def summary(measured: Iterable[Outcome]) -> str:
    """README's table: each maintained preset on the workloads it is for."""
    lines = [
        "| workload | machine | preset | default | with it | speed (smallest to largest) |",
        "|---|---|---|---|---|---|",
    ]
    for outcome in measured:
        for name in outcome.rows:
            lines += filter(
                None, (_summary_line(outcome, name, preset) for preset in (*WORKLOADS[name].presets, "auto"))
            )
    return "\n".join(lines)


def _summary_line(outcome: Outcome, workload: str, preset: str) -> str:
    row = outcome.row(workload, preset)
    if row is None or row.variant == DEFAULT:
        return ""
    one = WORKLOADS[workload].devices == "one"
    card = outcome.card.replace(f"{len(outcome.machine['gpus'])} x", "1 x", 1) if one else outcome.card
    machine = f"{card.replace('NVIDIA ', '')}, {outcome.machine['jaxlib']}"
    times = f"{row.default_ms:.2f} ms | {row.step_ms:.2f} ms"
    return f"| {WORKLOADS[workload].title} | {machine} | `{preset}` | {times} | {row.speed} |"


def gains_text(measured: Iterable[Outcome]) -> str:
    """What reports say of a preset's worth, one a line: each maintained preset on the workloads it is for, published ones where tried."""
    rows = [json.dumps(gain) for outcome in measured for gain in _gains(outcome)]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _gains(outcome: Outcome) -> Iterator[dict[str, object]]:
    for name in outcome.rows:
        workload = WORKLOADS[name]
        for preset in (*workload.presets, *workload.published):
            row = outcome.row(name, preset)
            if row is None or row.variant == DEFAULT:
                continue
            gpus = outcome.machine["gpus"]
            yield {
                "preset": preset,
                "workload": workload.title,
                "gpu": gpus[0]["name"],
                "count": 1 if workload.devices == "one" else len(gpus),
                "jaxlib": outcome.machine["jaxlib"],
                "speed": round(row.speed.value, 3),
                "low": round(row.speed.low, 3),
                "high": round(row.speed.high, 3),
                "pairs": row.processes,
            }


def page(measured: Iterable[Outcome]) -> str:
    """The text of docs/measured.md."""
    return "\n".join([INTRODUCTION, *(line for outcome in measured for line in _section(outcome))])


def _section(outcome: Outcome) -> Iterator[str]:
    machine = outcome.machine
    versions = f"driver {machine['driver']}, NCCL {machine['nccl']}, jax {machine['jax']}, NVLink multicast off"
    yield f"## {outcome.card}, jaxlib {machine['jaxlib']}\n\n{versions}.\n"
    yield f"![speed of each variant](images/{plots.speed_file(outcome)})\n"
    for workload, rows in outcome.rows.items():
        yield from _workload_table(workload, rows, outcome.same.get(workload, {}))
        yield from _flags_told(rows)
    if outcome.exposed:
        yield from _exposed_table(outcome)
    for run in outcome.failed:
        yield f"{run['workload']} with {run['variant']} failed: `{cause(run)}`.\n"


def _workload_table(workload: str, rows: Iterable[Row], same: dict[str, str] | object) -> Iterator[str]:
    yield f"### {WORKLOADS[workload].title}\n"
    yield "| variant | default, ms | step, ms | speed | compilation, s | peak memory, GiB | loss | off by | processes |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        peak = "" if row.peak_gib is None else f"{row.peak_gib:.1f}"
        speed = "1" if row.variant == DEFAULT else str(row.speed)
        times = (f"{row.default_ms:.2f}", f"{row.step_ms:.2f}", speed, f"{row.compile_seconds:.1f}")
        cells = (row.variant, *times, peak, f"{row.loss:.4f}", f"{100 * row.loss_off:.2f} %", str(row.processes))
        yield f"| {' | '.join(cells)} |"
    equals = ", ".join(f"{name} = {other}" for name, other in dict(same).items())
    yield f"\nThe same settings here, so measured once: {equals}.\n" if equals else ""


def _flags_told(rows: Iterable[Row]) -> Iterator[str]:
    """What the processes began with, where there was anything; a default that ran both with it and without is not named."""
    told: dict[str, list[str]] = {}
    for row in rows:
        told.setdefault(row.flags, []).append(row.variant)
    for flags, variants in told.items():
        if flags:
            who = "Every process" if len(told) == 1 else f"{', '.join(variants)} and what it is compared with"
            yield f"{who} began with `{flags}`.\n"


def _exposed_table(outcome: Outcome) -> Iterator[str]:
    yield "### Communication that is not hidden\n"
    yield "One device's share of a step, each collective replaced by local work of the same shapes, takes the time *alone*. What the step takes"
    yield "longer is communication that computation does not hide; the last column is how much of that time each variant saves.\n"
    yield "Where they ran on different machines, which differ by a few percent, the numbers are marked with ~, and of variants nothing is said where it is less than a fifth.\n"
    yield f"![what a step consists of](images/{plots.exposed_file(outcome)})\n"
    yield "| workload | default, ms | alone, ms | not hidden, ms | share of the step | saved of it |"
    yield "|---|---|---|---|---|---|"
    for workload, found in outcome.exposed.items():
        yield _exposed_line(workload, found)
    yield ""


def _exposed_line(workload: str, found: Exposed) -> str:
    saved = ", ".join(f"{name} {_share(ms, found.exposed_ms)}" for name, ms in found.hidden.items())
    about = "~" if found.apart else ""
    times = f"{found.default_ms:.2f} | {found.alone_ms:.2f} | {about}{found.exposed_ms:.2f}"
    return f"| {WORKLOADS[workload].title} | {times} | {about}{_share(found.exposed_ms, found.default_ms)} | {saved} |"


def _share(part: float, whole: float) -> str:
    return f"{round(100 * part / whole)} %"


if __name__ == "__main__":
    sys.exit(main())
