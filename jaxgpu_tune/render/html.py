"""A report as a compact HTML table for notebooks: dark and light, findings first, details folded, all escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..model import Decision, Finding, Report
from .parts import grouped, in_force, label, machine_line, sorted_findings, title

__all__ = ["render_html"]

STYLE = """<style>
.jaxgpu-tune.jaxgpu-tune{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:80em}
.jaxgpu-tune.jaxgpu-tune table{border-collapse:collapse;table-layout:auto;margin:.4em 0;font-size:inherit}
.jaxgpu-tune.jaxgpu-tune tr{background:none}
.jaxgpu-tune.jaxgpu-tune th,.jaxgpu-tune.jaxgpu-tune td{text-align:left;vertical-align:top;padding:.15em .9em .15em 0;
line-height:inherit;border:none;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);background:none}
.jaxgpu-tune.jaxgpu-tune code{font-size:12px;overflow-wrap:anywhere;color:inherit;background:none;padding:0}
.jaxgpu-tune.jaxgpu-tune td:first-child code{white-space:nowrap}
.jaxgpu-tune.jaxgpu-tune td:nth-child(2){min-width:9em}
.jaxgpu-tune.jaxgpu-tune p{margin:.3em 0;padding-left:.6em;border-left:3px solid}
.jaxgpu-tune.jaxgpu-tune .error{border-color:#d1242f}
.jaxgpu-tune.jaxgpu-tune .warning{border-color:#bf8700}
.jaxgpu-tune.jaxgpu-tune .note{border-color:#8c959f}
.jaxgpu-tune.jaxgpu-tune summary{cursor:pointer;opacity:.8}
</style>"""
"""The class is doubled to weigh more than a notebook's own rules for tables and code, which would align cells to the right."""


def render_html(report: Report) -> str:
    """The report as one ``<div>`` with its own style; only the colours of severities are fixed, the rest is inherited."""
    parts = [
        STYLE,
        f"<strong>{escape(title(report))}</strong>",
        *map(_finding, sorted_findings(report.findings)),
        _table(("setting", "value", "status", "reason"), map(_decision, in_force(report))),
        _folded("Nothing emitted for", _table(("setting", "status", "reason"), _others(report))),
        _folded("Environment", _table(("variable", "value"), _environ(report))),
        _folded("Machine", escape(machine_line(report.machine))),
    ]
    return f'<div class="jaxgpu-tune">{"".join(parts)}</div>'


def _finding(finding: Finding) -> str:
    message = escape(finding.message).replace("\n", "<br>")
    hint = f"<br><em>{escape(finding.hint)}</em>" if finding.hint else ""
    return f'<p class="{finding.severity}"><b>{finding.severity}</b> {message} <code>{escape(finding.code)}</code>{hint}</p>'


def _decision(decision: Decision) -> tuple[str, ...]:
    source = f" <em>({escape(decision.source)})</em>" if decision.source else ""
    return _code(label(decision)), _value(decision.value), decision.status, escape(decision.reason) + source


def _others(report: Report) -> Iterable[tuple[str, ...]]:
    for status, decisions in grouped(report).items():
        yield from ((_code(label(d)), status, escape(d.reason)) for d in decisions)


def _environ(report: Report) -> Iterable[tuple[str, ...]]:
    for name, value in report.environ.items():
        yield _code(name), "<em>removed</em>" if value is None else _value(value)


def _value(value: str | None) -> str:
    if value is None:
        return "<em>nothing</em>"
    return _code(value) if value else "<em>empty</em>"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already; empty without rows."""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _folded(heading: str, content: str) -> str:
    return f"<details><summary>{heading}</summary>{content}</details>" if content else ""


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
