"""Make every table and plot of what was measured: docs/measured.md, and README between its markers.

    python -m benchmarks.tables [--check]

Plots need matplotlib (the extra ``bench``). ``--check`` writes nothing and exits 1 if something is not as it would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import jaxgpu_tune
from benchmarks import plots, steps
from benchmarks.memory_of_settings import costs_text
from benchmarks.outcome import Outcome, Row, outcomes
from benchmarks.page import page
from benchmarks.tried import DEFAULT
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
START, END = "<!-- measured: written by `python -m benchmarks.tables` -->", "<!-- /measured -->"


def main() -> int:
    """Write what is not up to date, or tell it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would be written")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the suite's results")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of README.md and docs")
    given = parser.parse_args()
    measured, traced = outcomes(given.results), steps.read(given.results)
    stale = stale_texts(given.root, measured, traced, costs_text(given.results))
    drawings = plots.stale(given.root / "docs" / "images", measured, traced)
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


def stale_texts(
    root: Path, measured: list[Outcome], traced: Iterable[steps.Traced] = (), costs: str = "[]\n"
) -> dict[Path, str]:
    """Each file whose text is not as it should be, with the text. ``costs``: what presets cost in memory."""
    data = root / "jaxgpu_tune" / "knowledge" / "data"
    wanted = {root / "docs" / "measured.md": page(measured, list(traced))}
    wanted |= {data / "gains.json": gains_text(measured), data / "memory_costs.json": costs}
    readme = root / "README.md"
    before = readme.read_text("utf-8") if readme.exists() else ""
    if START in before and END in before:
        head, tail = before.split(START)[0], before.split(END)[1]
        wanted[readme] = f"{head}{START}\n{summary(measured)}\n{END}{tail}"
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text}


def summary(measured: Iterable[Outcome]) -> str:
    """README's table: each maintained preset on the programs it is for, by the most pairs that there are on any release; nothing without a verdict."""
    best: dict[tuple[str, str], tuple[Outcome, Row]] = {}
    for outcome in measured:
        for workload, preset, row in _maintained(outcome):
            if row.speed.word == "undecided":
                continue
            if (workload, preset) not in best or row.pairs > best[workload, preset][1].pairs:
                best[workload, preset] = (outcome, row)
    lines = ["| program | on | preset | default | with it | speed (smallest to largest) |", "|---|---|---|---|---|---|"]
    for (workload, preset), (outcome, row) in sorted(best.items(), key=lambda item: list(WORKLOADS).index(item[0][0])):
        where = f"{outcome.card(workload).replace('NVIDIA ', '')}, {outcome.machine['jaxlib']}"
        times = f"{row.default_ms:.2f} ms | {row.step_ms:.2f} ms"
        told = f"{row.speed}{'' if row.speed.word != 'no-difference' else ': no difference shown'}"
        lines.append(f"| {WORKLOADS[workload].title} | {where} | `{preset}` | {times} | {told} |")
    return "\n".join(lines)


def gains_text(measured: Iterable[Outcome]) -> str:
    """What reports say of a preset's worth: each preset on each program, GPU and release, by the most pairs, one a line."""
    best: dict[tuple[object, ...], dict[str, object]] = {}
    for gain in (gain for outcome in measured for gain in _gains(outcome)):
        key = tuple(gain[name] for name in ("preset", "workload", "gpu", "count", "jaxlib"))
        if key not in best or int(str(gain["pairs"])) > int(str(best[key]["pairs"])):
            best[key] = gain
    return "[\n" + ",\n".join(map(json.dumps, best.values())) + "\n]\n"


def _gains(outcome: Outcome) -> Iterator[dict[str, object]]:
    for name in (name for name in outcome.rows if WORKLOADS[name].until == "steps"):
        for preset in jaxgpu_tune.presets():
            row = outcome.row(name, preset.name)
            if row is not None and row.variant != DEFAULT:
                yield {
                    "preset": preset.name,
                    "workload": WORKLOADS[name].title,
                    "gpu": outcome.machine["gpus"][0]["name"],
                    "count": outcome.gpus[name],
                    "jaxlib": outcome.machine["jaxlib"],
                    "speed": round(row.speed.value, 3),
                    "low": round(row.speed.low, 3),
                    "high": round(row.speed.high, 3),
                    "pairs": row.pairs,
                    "verdict": row.speed.word,
                }


def _maintained(outcome: Outcome) -> Iterator[tuple[str, str, Row]]:
    for name in outcome.rows:
        for preset in WORKLOADS[name].presets if WORKLOADS[name].until == "steps" else ():
            row = outcome.row(name, preset)
            if row is not None and row.variant != DEFAULT:
                yield name, preset, row


if __name__ == "__main__":
    sys.exit(main())
