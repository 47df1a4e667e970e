"""A report as plain text: findings first, then what is in force and why, the environment and the machine."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Decision, Finding, Report
from ..planning.base.secrets import without_secrets
from .parts import grouped, in_force, label, machine_line, sorted_findings, title
from .table import hanging, table, wrapped

__all__ = ["findings_lines", "findings_text", "render_text", "terminal_width"]

WIDE = 140
"""From this width on, decisions stand in columns; below, each is a heading with its reason under it."""
USUAL = 100


def render_text(report: Report, width: int | None = None) -> str:
    """The report in lines of at most ``width`` columns (default: the terminal's; 100 where there is none)."""
    report = without_secrets(report)
    columns = width or terminal_width()
    sections = [
        hanging(title(report), columns),
        findings_lines(report.findings, columns),
        _section("Settings", _decision_lines(in_force(report), columns)),
        _section("Nothing emitted for", _group_lines(grouped(report), columns)),
        _section("Environment", _environ_lines(report)),
        _section("Machine", wrapped(machine_line(report.machine), columns, "  ")),
    ]
    return "\n".join(line for section in sections for line in section)


def findings_text(findings: Iterable[Finding], width: int | None = None) -> str:
    """The findings alone, worst first; empty if there are none."""
    return "\n".join(findings_lines(findings, width or terminal_width()))


def findings_lines(findings: Iterable[Finding], width: int) -> list[str]:
    """As ``findings_text``, in lines."""
    return [line for finding in sorted_findings(findings) for line in _finding(finding, width)]


def _finding(finding: Finding, width: int) -> list[str]:
    first, *rest = f"{finding.severity} ({finding.code}): {finding.message}".split("\n")
    drawing = [f"    {line}" for line in rest]
    hint = wrapped(finding.hint, width, "    ") if finding.hint else []
    return [*hanging(first, width), *drawing, *hint]


def _section(heading: str, lines: list[str]) -> list[str]:
    return [heading, *lines] if lines else []


def _decision_lines(decisions: list[Decision], width: int) -> list[str]:
    if not decisions:
        return []
    if width < WIDE:
        return [line for decision in decisions for line in _stacked(decision, width)]
    rows = [(label(d), _value(d), d.status, _why(d)) for d in decisions]
    return table([("setting", "value", "status", "reason"), *rows], width, indent="  ")


def _stacked(decision: Decision, width: int) -> list[str]:
    head = f"{label(decision)} = {_value(decision)} ({decision.status})"
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
