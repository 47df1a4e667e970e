"""A comparison as plain text and as HTML: one line a variant, the verdict in words, doubts, and what repeats it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..wording import counted, size_text, told_once
from .html import boxed, finding_html, table_html
from .table import hanging, table
from .text import findings_lines, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..measure.comparison import Comparison, Variant


__all__ = ["comparison_html", "comparison_text", "seconds_text", "value_text"]

WHAT = {
    "marks": "seconds a step, by the program's own marks",
    "calls": "seconds a step, by calls of {function}",
    "trace": "seconds a step under the tracer, by events of {function} on the host",
    "metric": "the metric that the program prints",
    "whole": "seconds of the whole run, with start and compilation",
    "blocks": "seconds a call, in blocks of calls",
    "": "nothing: the reference was not measured",
}
ENDED = {
    "complete": "",
    "futile": "It ended early: the pairs disagree, so more of them could not show a difference.",
    "budget": "The budget was spent before all pairs were measured.",
    "interrupted": "It was interrupted; this is what there was.",
}
CACHES = {
    "cold": "Each run compiled anew (--caches cold).",
    "warm": "The runs shared one compilation cache (--caches warm).",
}
LEFT_BEHIND = (
    "If it works by itself: what one run leaves, such as a folder or a lock, may stop the next; {run} in the command is "
    "an empty folder for each run."
)
HEAD = ("variant", "median", "verdict", "compile", "first step", "memory")


def comparison_text(found: Comparison, width: int | None = None) -> str:
    """In lines of at most ``width`` columns (default: the terminal's; 100 where there is none)."""
    columns = width or terminal_width()
    rows = [HEAD, *(_cells(found, variant) for variant in found.variants)]
    lines = [
        *hanging(_title(found), columns),
        *table([_reordered(row) for row in rows], columns, "  "),
        *(line for text in _notes(found) for line in hanging(text, columns)),
        *findings_lines(found.findings, columns),
    ]
    words = found.reference.trials[-1].last_words if found.reference.trials else ""
    lines += ["Its last words:", *(f"  {line}" for line in words.splitlines())] if words else []
    return "\n".join([*lines, *([f"Repeat: {found.command}"] if found.command else [])])


def comparison_html(found: Comparison) -> str:
    """As one ``<div>`` with its own style."""
    rows = (tuple(map(escape, _reordered(_cells(found, variant)))) for variant in found.variants)
    parts = [
        f"<strong>{escape(_title(found))}</strong>",
        *map(finding_html, told_once(found.findings)),
        table_html(_reordered(HEAD), rows),
        *(f"<p>{escape(text)}</p>" for text in _notes(found)),
        f"<code>{escape(found.command)}</code>" if found.command else "",
    ]
    return boxed(*parts)


def value_text(value: float | None, clock: str) -> str:
    """A value of that clock with its unit."""
    if value is None:
        return "-"
    return f"{value:.5g}" if clock == "metric" else seconds_text(value)


def seconds_text(seconds: float | None) -> str:
    """A time in the unit that reads best, with four figures."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e6:.4g} µs" if seconds else "0 s"


def _title(found: Comparison) -> str:
    best = found.best
    if not best.ratios and best is found.reference:
        return f"jaxgpu_tune compare: {best.name}: {best.cause or 'not measured'}"
    said = best.cause if best.verdict.word == "failed" and best.cause else best.verdict.sentence
    return f"jaxgpu_tune compare: {best.name} against {found.reference.name}: {said}"


def _cells(found: Comparison, variant: Variant) -> tuple[str, ...]:
    said = "the reference" if variant is found.reference else variant.verdict.sentence
    if variant.verdict.word == "failed":
        said = (
            f"failed ({variant.status}){_in_some(variant)}: {variant.cause}" if variant.cause else _unmeasured(variant)
        )
    return (
        variant.name,
        value_text(variant.value, found.clock),
        said,
        seconds_text(variant.compile_seconds),
        seconds_text(variant.first_step_s),
        "-" if variant.peak_bytes is None else size_text(variant.peak_bytes),
    )


def _reordered(cells: tuple[str, ...]) -> tuple[str, ...]:
    """The verdict, which is longest, comes last."""
    name, value, said, *rest = cells
    return (name, value, *rest, said)


def _unmeasured(variant: Variant) -> str:
    return "not measured" if variant.value is None else "no pair was measured"


def _in_some(variant: Variant) -> str:
    """In how many of its runs it failed, where others ran well."""
    failed = sum(trial.value is None for trial in variant.trials)
    runs = len(variant.trials)
    return f" in {failed} of {counted(runs, 'run')}" if failed < runs else ""


def _notes(found: Comparison) -> Iterator[str]:
    unit = WHAT[found.clock].format(function=found.function)
    share = "" if found.percentile is None else f", percentile {found.percentile:g}"
    more = " (more is better)" if found.higher_is_better else ""
    caches = f" {CACHES[found.caches]}" if found.caches in CACHES else ""
    yield f"Measured: {unit}{share}{more}; {_pairs(found)} in {seconds_text(found.seconds)}.{caches}"
    if found.noise is not None:
        yield f"{found.reference.name} against itself: {(found.noise - 1) * 100:+.1f}%, which is noise."
    if found.ended == "failed":
        bad = found.reference.status != "ok"
        yield _mend(found.reference) if bad else "No other variant ran to its end, so there is nothing to compare."
    elif ENDED.get(found.ended):
        yield ENDED[found.ended]
    if found.winner is not found.reference:
        yield f"Use {found.winner.name}."


def _mend(reference: Variant) -> str:
    told = f"The reference ({reference.name}) failed{_in_some(reference)}, so nothing can be compared: fix that first."
    return f"{told} {LEFT_BEHIND}" if _in_some(reference) else told


def _pairs(found: Comparison) -> str:
    return counted(max((len(variant.ratios) for variant in found.variants), default=0), "pair")
