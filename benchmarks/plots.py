"""The plots of docs/measured.md as SVG. Each carries a digest of what it shows, so that checking it needs no matplotlib."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Row
from benchmarks.variants import DEFAULT
from benchmarks.workloads import WORKLOADS

Draw = Callable[[Path], None]


def speed_file(outcome: Outcome) -> str:
    """The name of the plot of every variant's speed."""
    return f"measured-{outcome.name}.svg"


def exposed_file(outcome: Outcome) -> str:
    """The name of the plot of communication that is not hidden."""
    return f"exposed-{outcome.name}.svg"


def stale(folder: Path, measured: Iterable[Outcome]) -> dict[Path, Draw]:
    """Each plot that does not show these numbers, and what draws it."""
    wanted: dict[Path, tuple[str, Draw]] = {}
    for outcome in measured:
        wanted[folder / speed_file(outcome)] = _with_digest(draw_speed, _speeds(outcome))
        if outcome.exposed:
            wanted[folder / exposed_file(outcome)] = _with_digest(draw_exposed, _parts(outcome))
    return {
        path: draw for path, (digest, draw) in wanted.items() if not path.exists() or digest not in path.read_text()
    }


def _with_digest(draw: Any, shown: Any) -> tuple[str, Draw]:
    digest = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]
    return digest, partial(draw, shown, digest)


def _speeds(outcome: Outcome) -> list[tuple[str, list[tuple[str, float, float, float]]]]:
    def points(rows: tuple[Row, ...]) -> list[tuple[str, float, float, float]]:
        return [(row.variant, *(round(one, 4) for one in row.speed)) for row in rows if row.variant != DEFAULT]

    return [(WORKLOADS[name].title, points(rows)) for name, rows in outcome.rows.items() if len(rows) > 1]


def _parts(outcome: Outcome) -> list[tuple[str, float, float]]:
    return [
        (WORKLOADS[name].title, round(found.alone_ms, 3), round(found.exposed_ms, 3))
        for name, found in outcome.exposed.items()
    ]


def draw_speed(shown: Any, digest: str, path: Path) -> None:
    """A point for each variant, its interval as a line, the default at 1; coloured where more than one pair agrees."""
    labels = [(title, *point) for title, points in shown for point in points]
    figure, axes = _figure(0.22 * len(labels) + 0.3 * len(shown) + 1)
    place = 0.0
    for title, points in shown:
        axes.text(
            0.0,
            place,
            title,
            transform=axes.get_yaxis_transform(),
            fontsize=8,
            fontweight="bold",
            va="center",
            ha="right",
        )
        for name, value, low, high in points:
            place += 1
            colour = "tab:gray" if low == high or low <= 1 <= high else "tab:green" if low > 1 else "tab:red"
            axes.plot([low, high], [place, place], color=colour, linewidth=2)
            axes.plot([value], [place], "o", color=colour, markersize=4)
            axes.text(-0.01, place, name, transform=axes.get_yaxis_transform(), fontsize=7, va="center", ha="right")
        place += 1.5
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_ylim(place, -1)
    axes.set_yticks([])
    axes.set_xlabel("speed against no settings; coloured where several pairs of processes agree")
    _save(figure, path, digest)


def draw_exposed(shown: Any, digest: str, path: Path) -> None:
    """For each workload, the share of the default's step that is communication not hidden."""
    figure, axes = _figure(0.4 * len(shown) + 1)
    titles = [title for title, _, _ in shown]
    alone = [100 * alone / (alone + more) for _, alone, more in shown]
    axes.barh(titles, alone, color="tab:gray", label="the share of one device alone")
    axes.barh(
        titles, [100 - one for one in alone], left=alone, color="tab:orange", label="communication that is not hidden"
    )
    axes.invert_yaxis()
    axes.set_xlabel("per cent of a step by default")
    axes.legend(fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    _save(figure, path, digest)


def _figure(height: float) -> tuple[Any, Any]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SystemExit(f"Plots need matplotlib ({error}): pip install '.[bench]'") from error

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "jaxgpu_tune"
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(8, height), layout="constrained")


def _save(figure: Any, path: Path, digest: str) -> None:
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Description": digest})
    plt.close(figure)
