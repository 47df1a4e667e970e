"""A search's answer as text, as a table for notebooks, and as a page with the history of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from ..values import EMPTY
from ..wording import took
from .html import boxed, code_html, table_html
from .table import hanging, table
from .text import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Told = Mapping[str, Any]


__all__ = ["trial_heading", "trial_line", "tuned_html", "tuned_page", "tuned_text"]

WIDTH, HEIGHT, LEFT, TOP = 900, 260, 60, 16
COLOURS = {"start": "#8c959f", "toggle": "#0969da", "prune": "#bf8700", "check": "#1a7f37"}
FAILED = "#d1242f"
WORDS = {"start": "starting point", "toggle": "one change", "prune": "left out", "check": "fresh pair"}
PAGE_STYLE = """<style>
body{margin:1.5em auto;max-width:80em;padding:0 1em;font:14px/1.5 system-ui,sans-serif;background:#fff;color:#1f2328}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
svg{width:100%;height:auto;font:11px system-ui,sans-serif}svg text{fill:currentColor}
</style>"""


def tuned_text(told: Told, width: int | None = None) -> str:
    """The answer, and a line for each setting that was tried."""
    columns = width or terminal_width()
    lines = hanging(str(told["answer"]), columns)
    if told["path"]:
        lines += hanging(f"Written to {told['path']}: jaxgpu_tune.configure({told['path']!r}).", columns)
    lines += [line for hazard in told["hazards"] for line in hanging(f"warning: {hazard}", columns)]
    lines += [line for one in told["findings"] for line in hanging(f"{one['severity']}: {_finding(one)}", columns)]
    rows = [_did_row(one) for one in told["did"] if one["tried"]]
    if rows:
        lines += ["What each setting did", *table([("setting", "runs", "speed", ""), *rows], columns, "  ")]
    rest = [one["name"] for one in told["did"] if not one["tried"]]
    if rest:
        lines += hanging(f"Not tried: {', '.join(rest)} (the reasons are in the JSON and on the page).", columns)
    return "\n".join(lines)


def _finding(one: Told) -> str:
    """What should be known, and what to do."""
    return f"{one['message']} {one['hint']}".rstrip()


def trial_heading(judged: Told = EMPTY) -> str:
    """What the parts of a ``trial_line`` are. ``judged``: by which clock."""
    return f"{'run':>3} {_unit(judged):>16} {'speed':>7}  {'what for':<14}  settings"


def trial_line(
    told: Told, number: int, as_it_is: float | None, left: float, best: str = "", judged: Told = EMPTY
) -> str:
    """One run, for the screen: its number, its time, how many times as fast as ``as_it_is`` (ms), what for, its settings, what is left, the ``best`` so far."""
    ms = told["ms"]
    speed = f"{as_it_is / ms:.3f}" if as_it_is and ms else ""
    what = told["failure"] or took(ms, judged)
    rest = f"{_minutes(left)} left{f'; best so far: {best}' if best else ''}"
    return f"{number:3} {what:>16} {speed:>7}  {WORDS[told['purpose']]:<14}  {told['name']}  ({rest})"


def _unit(judged: Told) -> str:
    return "metric" if judged.get("clock") == "metric" else "time"


def tuned_html(told: Told) -> str:
    """The answer and its table as one ``<div>``."""
    rows = ((escape(a), b, c, escape(d)) for a, b, c, d in map(_did_row, told["did"]))
    settings = " ".join(code_html(f"{name}={value}") for _, name, value in told["settings"])
    parts = [
        f"<strong>{escape(str(told['answer']))}</strong>",
        f"<div>{settings}</div>" if settings else "",
        *(f'<p class="{one["severity"]}">{escape(_finding(one))}</p>' for one in told["findings"]),
        table_html(("setting", "runs", "speed with it", "remark"), rows),
    ]
    return boxed(*parts)


def tuned_page(told: Told) -> str:
    """A page of its own: the answer, every run as a point, the fresh pairs with their interval, what each setting did. No outside script."""
    command = " ".join(told.get("command", ()))
    body = [
        "<h1>jaxgpu-tune tune</h1>",
        f"<p>{code_html(command)}</p>" if command else "",
        tuned_html(told),
        "<h2>Every run</h2>",
        _history(told["trials"], told["ms_as_it_is"]),
        "<h2>Fresh pairs</h2>" if told["contests"] else "",
        *(_pairs(contest) for contest in told["contests"]),
        "<h2>Trials</h2>",
        f'<div class="jaxgpu-tune">{table_html(("run", "settings", "for", _unit(told), "outcome", "seconds"), _trial_rows(told))}</div>',
    ]
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>jaxgpu-tune tune</title>{PAGE_STYLE}</head>'
    )
    return f"{head}<body>{''.join(body)}</body></html>\n"


def _did_row(one: Told) -> tuple[str, str, str, str]:
    speed = "" if one["effect"] is None else f"{one['effect']:.3f} ± {one['spread']:.3f}"
    chosen = "chosen" if one["chosen"] else ""
    return one["name"], str(one["tried"]), speed, "; ".join(part for part in (chosen, one["why"]) if part)


def _trial_rows(told: Told) -> Iterable[tuple[str, ...]]:
    for number, one in enumerate(told["trials"], start=1):
        time = "" if one["ms"] is None else took(one["ms"], told)
        outcome = escape(f"{one['failure']} {one['detail'].get('cause', '')}".strip() or "ok")
        name = code_html(one["name"])
        yield str(number), name, WORDS[one["purpose"]], time, outcome, f"{one['seconds']:.0f}"


def _history(trials: list[Any], as_it_is: float | None) -> str:
    """Speed against the program as it is, run by run; what failed stands on the line at the bottom."""
    if as_it_is is None:
        return ""
    speeds = [as_it_is / one["ms"] if one["ms"] else None for one in trials]
    known = [one for one in speeds if one is not None]
    low, high = min(*known, 0.95), max(*known, 1.05)

    def place(number: int, speed: float | None) -> tuple[float, float]:
        x = LEFT + (WIDTH - 2 * LEFT) * (number + 0.5) / len(trials)
        return x, HEIGHT - 24 if speed is None else TOP + (HEIGHT - TOP - 40) * (high - speed) / (high - low)

    marks = [_mark(one, *place(n, speed), speed) for n, (one, speed) in enumerate(zip(trials, speeds, strict=True))]
    grid = "".join(_line(place(0, at)[1], f"{at:.2f}") for at in sorted({low, 1.0, high}))
    legend = "".join(
        f'<text x="{LEFT + 150 * place}" y="{HEIGHT - 4}" style="fill:{COLOURS[name]}">● {WORDS[name]}</text>'
        for place, name in enumerate(COLOURS)
    )
    legend += f'<text x="{LEFT + 600}" y="{HEIGHT - 4}" style="fill:{FAILED}">× failed</text>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="speed of every run">{grid}{"".join(marks)}{legend}</svg>'


def _mark(one: Told, x: float, y: float, speed: float | None) -> str:
    told = escape(f"{one['name']}: {one['failure'] or f'{speed:.3f}'}")
    colour = COLOURS[one["purpose"]]
    shape = (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" style="fill:{FAILED}">×</text>'
        if one["failure"]
        else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    )
    return f"<g><title>{told}</title>{shape}</g>"


def _line(y: float, label: str) -> str:
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - LEFT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-opacity=".2"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _pairs(contest: Told) -> str:
    """One line with a point for each pair, from the smallest to the largest ratio."""
    ratios = contest["ratios"]
    title = f"<p>{code_html(contest['challenger'])} against {code_html(contest['reference'])}: {escape(contest['verdict'])}</p>"
    if not ratios:
        return title
    low, high = min(*ratios, 0.98), max(*ratios, 1.02)
    at = [LEFT + (WIDTH - 2 * LEFT) * (one - low) / (high - low) for one in (*ratios, 1.0)]
    dots = "".join(f'<circle cx="{x:.1f}" cy="20" r="4" fill="{COLOURS["check"]}"/>' for x in at[:-1])
    span = f'<line x1="{min(at[:-1]):.1f}" x2="{max(at[:-1]):.1f}" y1="20" y2="20" stroke="{COLOURS["check"]}" stroke-width="2"/>'
    one = f'<line x1="{at[-1]:.1f}" x2="{at[-1]:.1f}" y1="4" y2="36" stroke="currentColor"/><text x="{at[-1]:.1f}" y="48" text-anchor="middle">1.0</text>'
    return f'{title}<svg viewBox="0 0 {WIDTH} 54" role="img" aria-label="ratios of the pairs">{span}{dots}{one}</svg>'


def _minutes(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"
