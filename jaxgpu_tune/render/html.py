"""A report as a compact HTML table for notebooks: dark and light, findings first, details folded, all escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..model import Decision, Finding, Gpu, Machine, Preset, Report
from ..planning.base.secrets import without_secrets
from ..wording import size_text, told_once
from .parts import (
    became,
    by_owner,
    change,
    decisions_in_force,
    grouped,
    label,
    machine_facts,
    machine_line,
)
from .verdict import headline, off, worth

__all__ = [
    "boxed",
    "code_html",
    "finding_html",
    "folded",
    "machine_html",
    "presets_html",
    "render_html",
    "table_html",
    "value_html",
]

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
    report = without_secrets(report)
    findings, would = told_once(report.findings), off(report)
    parts = [
        f"<strong>{escape(headline(report))}</strong> {escape(worth(report))}",
        *map(finding_html, (f for f in findings if f.severity != "note")),
        *(_changes(heading, decisions, would) for heading, decisions in by_owner(report, would=would).items()),
        folded(
            "Reasons",
            table_html(
                ("setting", "value", "status", "reason"), (_decision(d, would) for d in decisions_in_force(report))
            ),
        ),
        folded("Notes", "".join(finding_html(f) for f in findings if f.severity == "note")),
        folded("Nothing emitted for", table_html(("setting", "status", "reason"), _others(report))),
        folded(
            "Environment as it would be" if would else "Environment",
            table_html(("variable", "value"), _environ(report)),
        ),
        folded("Machine", escape(machine_line(report.machine))),
    ]
    return boxed(*parts)


def machine_html(machine: Machine) -> str:
    """What was learned of a machine: a row for each GPU, then the other facts."""
    gpus = table_html(("GPU", "name", "compute capability", "memory"), map(_gpu, machine.gpus or ()))
    facts = machine_facts(machine)[bool(gpus) :]
    return boxed(gpus, escape(", ".join(facts)))


def _gpu(gpu: Gpu) -> tuple[str, ...]:
    unknown = "<em>unknown</em>"
    name, capability = escape(gpu.name or ""), escape(gpu.compute_capability or "")
    return str(gpu.index), name or unknown, capability or unknown, size_text(gpu.memory_bytes)


def presets_html(presets: Iterable[Preset]) -> str:
    """A row for each preset: what it is called and for, and who answers for it."""
    rows = ((code_html(preset.name), preset.kind, escape(preset.summary)) for preset in presets)
    return boxed(table_html(("preset", "kind", "summary"), rows))


def _changes(heading: str, decisions: Iterable[Decision], would: bool) -> str:
    return f"<div>{escape(heading)}<br>{'<br>'.join(code_html(change(decision, would=would)) for decision in decisions)}</div>"


def finding_html(finding: Finding) -> str:
    """A finding as a paragraph in the colour of its severity."""
    message = escape(finding.message).replace("\n", "<br>")
    hint = f"<br><em>{escape(finding.hint)}</em>" if finding.hint else ""
    return f'<p class="{finding.severity}"><b>{finding.severity}</b> {message} <code>{escape(finding.code)}</code>{hint}</p>'


def _decision(decision: Decision, would: bool) -> tuple[str, ...]:
    source = f" <em>({escape(decision.source)})</em>" if decision.source else ""
    status = became(decision, would=would)
    return code_html(label(decision)), value_html(decision.value), status, escape(decision.reason) + source


def _others(report: Report) -> Iterable[tuple[str, ...]]:
    for status, decisions in grouped(report).items():
        yield from ((code_html(label(d)), status, escape(d.reason)) for d in decisions)


def _environ(report: Report) -> Iterable[tuple[str, ...]]:
    for name, value in report.environ.items():
        yield code_html(name), "<em>removed</em>" if value is None else value_html(value)


def value_html(value: str | None) -> str:
    """A text that is emitted, or that there is none."""
    if value is None:
        return "<em>nothing</em>"
    return code_html(value) if value else "<em>empty</em>"


def table_html(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already; empty without rows."""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def boxed(*parts: str) -> str:
    """Pieces of HTML as one ``<div>`` with its own style."""
    return f'<div class="jaxgpu-tune">{STYLE}{"".join(parts)}</div>'


def folded(heading: str, content: str) -> str:
    """Shown when its heading is clicked; empty without content."""
    return f"<details><summary>{heading}</summary>{content}</details>" if content else ""


def code_html(text: str) -> str:
    """A text as one types it."""
    return f"<code>{escape(text)}</code>"
