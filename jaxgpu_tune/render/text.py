"""A report as plain text: short, for the screen; and whole, with every reason."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Decision, Finding, Report
from ..planning.base.secrets import without_secrets
from ..wording import counted, told_once
from .parts import became, by_owner, change, decisions_in_force, grouped, label, machine_line
from .table import hanging, table, wrapped
from .verdict import headline, off, worth

__all__ = ["findings_lines", "findings_text", "render_details", "render_text", "terminal_width"]

SCREEN, LISTED = 25, 8
"""Lines of a report, if its changes leave room for that; and changes of one owner that are listed."""

WIDE = 140
"""From this width on, decisions stand in columns; below, each is a heading with its reason under it."""
USUAL = 100


def render_text(report: Report, width: int | None = None) -> str:
    """The report on one screen: what was done and what it is worth, what is wrong, then a line for each change.

    ``width``: of a line, in columns (default: the terminal's; 100 where there is none). ``render_details`` says why.
    """
    from shlex import quote

    report = without_secrets(report)
    columns = width or terminal_width()
    changes = _change_lines(report, columns)
    told = (headline(report), worth(report))
    top = [line for text in told if text for line in hanging(text, columns)]
    more = hanging(
        f"Why, and all else: print(report.details()), or jaxgpu-tune plan {quote(report.preset)} -v", columns
    )
    room = SCREEN - len(top) - len(changes) - len(more)
    return "\n".join([*top, *_brief_findings(report.findings, columns, room), *changes, *more])


def render_details(report: Report, width: int | None = None) -> str:
    """The whole report, in lines of at most ``width`` columns (default: the terminal's; 100 where there is none)."""
    report = without_secrets(report)
    columns = width or terminal_width()
    top = [headline(report), *filter(None, [worth(report)])]
    sections = [
        [line for text in top for line in hanging(text, columns)],
        findings_lines(report.findings, columns),
        _section(
            "Settings that would hold" if off(report) else "Settings",
            _decision_lines(decisions_in_force(report), columns, off(report)),
        ),
        _section("Nothing emitted for", _group_lines(grouped(report), columns)),
        _section("Environment as it would be" if off(report) else "Environment", _environ_lines(report)),
        _section("Machine", wrapped(machine_line(report.machine), columns, "  ")),
    ]
    return "\n".join(line for section in sections for line in section)


def _change_lines(report: Report, width: int) -> list[str]:
    """What changes, a line each: by the preset, by the call, of what was set already; long lists are counted."""
    lines: list[str] = []
    would = off(report)
    for heading, decisions in by_owner(report, would=would).items():
        shown = [f"  {change(decision, would=would)}" for decision in decisions[:LISTED]]
        rest = len(decisions) - len(shown)
        lines += [heading, *(line if len(line) <= width else f"{line[: width - 1]}…" for line in shown)]
        lines += [f"  and {rest} more"] if rest else []
    return lines


def _brief_findings(findings: Iterable[Finding], width: int, room: int) -> list[str]:
    """Errors and warnings in full where there is room, else a line each, else counted; notes are counted."""
    told = [finding for finding in told_once(findings) if finding.severity != "note"]
    notes = sum(finding.severity == "note" for finding in findings)
    lines = findings_lines(told, width)
    if len(lines) + bool(notes) > room:
        kept = told[: max(3, room - 2)]
        lines = [shortened(f"{f.severity} ({f.code}): {f.message}", width) for f in kept]
        lines += [f"and {len(told) - len(kept)} more findings"] if len(told) > len(kept) else []
    return [*lines, *([f"{counted(notes, 'note')} in the details"] if notes else [])]


def shortened(text: str, width: int) -> str:
    """The text on one line, cut where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def findings_text(findings: Iterable[Finding], width: int | None = None) -> str:
    """The findings alone, worst first; empty if there are none."""
    return "\n".join(findings_lines(findings, width or terminal_width()))


def findings_lines(findings: Iterable[Finding], width: int) -> list[str]:
    """As ``findings_text``, in lines."""
    return [line for finding in told_once(findings) for line in _finding(finding, width)]


def _finding(finding: Finding, width: int) -> list[str]:
    first, *rest = f"{finding.severity} ({finding.code}): {finding.message}".split("\n")
    drawing = [f"    {line}" for line in rest]
    hint = wrapped(finding.hint, width, "    ") if finding.hint else []
    return [*hanging(first, width), *drawing, *hint]


def _section(heading: str, lines: list[str]) -> list[str]:
    return [heading, *lines] if lines else []


def _decision_lines(decisions: list[Decision], width: int, would: bool) -> list[str]:
    if not decisions:
        return []
    if width < WIDE:
        return [line for decision in decisions for line in _stacked(decision, width, would)]
    rows = [(label(d), _value(d), became(d, would=would), _why(d)) for d in decisions]
    return table([("setting", "value", "status", "reason"), *rows], width, indent="  ")


def _stacked(decision: Decision, width: int, would: bool) -> list[str]:
    head = f"{label(decision)} = {_value(decision)} ({became(decision, would=would)})"
    return [*wrapped(head, width, "  "), *wrapped(_why(decision), width, "      ")]


def _value(decision: Decision) -> str:
    return "(nothing)" if decision.value is None else decision.value or "(empty)"


def _why(decision: Decision) -> str:
    return f"{decision.reason} [{decision.source}]" if decision.source else decision.reason


def _group_lines(groups: dict[str, list[Decision]], width: int) -> list[str]:
    return [line for status, decisions in groups.items() for line in _group(status, decisions, width)]


def _group(status: str, decisions: list[Decision], width: int) -> list[str]:
    """Settings that share a reason share a line."""
    by_reason: dict[str, list[str]] = {}
    for decision in decisions:
        by_reason.setdefault(decision.reason, []).append(label(decision))
    lines = [f"{', '.join(names)} ({status}): {reason}" for reason, names in by_reason.items()]
    return [part for line in lines for part in hanging(line, width, "  ")]


def _environ_lines(report: Report) -> list[str]:
    from shlex import quote

    return [
        f"  {name} removed" if value is None else f"  {name}={quote(value)}" for name, value in report.environ.items()
    ]


def terminal_width() -> int:
    """The terminal's columns, or COLUMNS; 100 where there is neither."""
    from shutil import get_terminal_size

    return get_terminal_size((USUAL, 24)).columns
