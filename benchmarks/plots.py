"""The plots of docs/measured.md as SVG. Each carries a digest of what it shows, so that checking it needs no matplotlib."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import steps
from benchmarks.outcome import Outcome
from benchmarks.tried import DEFAULT
from benchmarks.workloads import WORKLOADS, Workload

Draw = Callable[[Path], None]
COLOURS = (
    "tab:blue",
    "tab:orange",
    "tab:green",
    "tab:red",
    "tab:purple",
    "tab:brown",
    "tab:pink",
    "tab:olive",
    "tab:cyan",
)
MARKS = "osD^vPX*h"


def speed_file(outcome: Outcome) -> str:
    """The name of the plot of every variant's speed."""
    return f"measured-{outcome.name}.svg"


def stale(folder: Path, measured: Iterable[Outcome], traced: list[steps.Traced]) -> dict[Path, Draw]:
    """Each plot that does not show these numbers, and what draws it."""
    shown = {speed_file(outcome): panels(outcome) for outcome in measured}
    wanted = {folder / name: _with_digest(draw_speed, these) for name, these in shown.items() if these}
    if traced:
        wanted[folder / steps.FILE] = _with_digest(draw_steps, [(one.title, one.parts) for one in traced])
    return {
        path: draw for path, (digest, draw) in wanted.items() if not path.exists() or digest not in path.read_text()
    }


def _with_digest(draw: Any, shown: Any) -> tuple[str, Draw]:
    digest = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]
    return digest, partial(draw, shown, digest)


def panels(outcome: Outcome) -> dict[str, dict[str, list[tuple[str, float, float, float, bool]]]]:
    """By kind of workload and by variant: (workload, speed, smallest, largest, whether a verdict stands behind it)."""
    made: dict[str, dict[str, list[tuple[str, float, float, float, bool]]]] = {}
    for name, rows in outcome.rows.items():
        for row in rows:
            if row.variant != DEFAULT and not _is_detail(WORKLOADS[name], row.variant):
                low, high = round(row.speed.low, 4), round(row.speed.high, 4)
                point = (WORKLOADS[name].title, round(row.speed.value, 4), low, high, row.speed.word != "undecided")
                made.setdefault(kind_of(WORKLOADS[name]), {}).setdefault(row.variant, []).append(point)
    return made


def _is_detail(workload: Workload, variant: str) -> bool:
    """What was tried on top of a preset, and the time to the first step, are in the tables only."""
    on_top = variant.startswith(tuple(f"{preset}, " for preset in workload.presets))
    return workload.until == "first step" or on_top or variant in {one.name for one in workload.tried}


def kind_of(workload: Workload) -> str:
    """What a panel holds."""
    if workload.devices != "all":
        return "one GPU"
    return "FSDP" if workload.module in ("workloads.fsdp", "programs.transformer") else "several GPUs, not FSDP"


def draw_speed(shown: Any, digest: str, path: Path) -> None:
    """A panel for each kind, a row for each variant, a point for each workload; hollow where no verdict stands behind it."""
    heights = [len(rows) * max(1.0, len(_titles(rows)) / 5) + 1.5 for rows in shown.values()]
    figure, axes = _figure(0.28 * sum(heights) + 0.9 * len(shown), len(shown), heights)
    for panel, (kind, rows) in zip(axes, shown.items(), strict=True):
        titles = _titles(rows)
        gap = min(0.12, 0.8 / len(titles))
        for place, points in enumerate(rows.values()):
            for title, *point in points:
                number = titles.index(title)
                _point(
                    panel,
                    place + gap * (number - len(titles) / 2 + 0.5),
                    point,
                    COLOURS[number % 9],
                    MARKS[number % 9],
                )
            panel.axhline(place + 0.5, color="lightgray", linewidth=0.5)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.set_yticks(range(len(rows)), list(rows), fontsize=8)
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.set_title(kind, fontsize=9, loc="left", fontweight="bold")
        panel.grid(axis="x", linewidth=0.3)
        marks = [
            panel.plot([], [], MARKS[n % 9], color=COLOURS[n % 9], label=title)[0] for n, title in enumerate(titles)
        ]
        panel.legend(handles=marks, fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    axes[-1].set_xlabel(
        "speed against no settings (right of 1: faster); hollow: fewer pairs than a verdict takes", fontsize=8
    )
    _save(figure, path, digest)


def _titles(rows: Any) -> list[str]:
    """The workloads of a panel."""
    return list(dict.fromkeys(point[0] for points in rows.values() for point in points))


def _point(panel: Any, place: float, point: list[Any], colour: str, mark: str) -> None:
    value, low, high, decided = point
    panel.plot([low, high], [place, place], color=colour, linewidth=1)
    panel.plot([value], [place], mark, color=colour, markersize=5, fillstyle="full" if decided else "none")


def draw_steps(shown: Any, digest: str, path: Path) -> None:
    """For each case a bar, its parts in milliseconds."""
    figure, (axes,) = _figure(0.45 * len(shown) + 1.2, 1, [1])
    titles, colours = [title for title, _ in shown], ("tab:gray", "tab:olive", "tab:orange", "white")
    left = [0.0] * len(shown)
    for part, colour in zip(steps.NAMES, colours, strict=True):
        widths = [parts[part] for _, parts in shown]
        axes.barh(titles, widths, left=left, color=colour, edgecolor="gray", linewidth=0.5, label=steps.NAMES[part])
        left = [one + width for one, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=7)
    axes.set_xlabel("milliseconds of a step on one GPU, by its trace", fontsize=8)
    axes.legend(fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    _save(figure, path, digest)


def _figure(height: float, panels: int, heights: list[float]) -> tuple[Any, list[Any]]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SystemExit(f"Plots need matplotlib ({error}): pip install '.[bench]'") from error

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "jaxgpu_tune"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        panels, figsize=(9, height), layout="constrained", squeeze=False, height_ratios=heights, sharex=panels > 1
    )
    return figure, list(axes[:, 0])


def _save(figure: Any, path: Path, digest: str) -> None:
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Description": digest})
    plt.close(figure)
