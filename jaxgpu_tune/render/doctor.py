"""The screen of ``jaxgpu-tune doctor``: what matters first, then what a bug report needs."""

from __future__ import annotations

from ..model import Finding
from ..wording import counted, told_once
from .table import hanging
from .text import findings_lines, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


__all__ = ["doctor_text"]

SLOW = {"Slow all the same?": ["jaxgpu-tune profile -- python train.py tells where a step goes."]}
"""What to do next where nothing is wrong."""


def doctor_text(told: Mapping[str, Any], width: int | None = None) -> str:
    """``told`` is what ``--json`` prints."""
    columns = width or terminal_width()
    findings = [Finding(**finding) for finding in told["findings"]]
    sections = {
        "Machine": [*told["facts"], *told["software"], *_start(told["start"])],
        "Environment": [f"{name}={value}" for name, value in told["environ"].items()]
        or ["nothing that JAX reads is set"],
        "Presets": [
            f"{told['preset']} sets here: {', '.join(told['sets']) or 'nothing'}",
            "all of them: jaxgpu-tune presets",
        ],
        **({} if _errors(findings) else SLOW),
    }
    lines = [*hanging(_verdict(findings), columns), *findings_lines(findings, columns)]
    lines += hanging(_mended(told["mended"]), columns) if told["mended"] else []
    for heading, facts in sections.items():
        lines += [heading, *(line for fact in facts for line in hanging(fact, columns, "  "))]
    return "\n".join(lines)


def _mended(names: list[str]) -> str:
    return f"configure() and jaxgpu-tune run repair {', '.join(names)} as said here; without them, the values stay as they are."


def _errors(findings: list[Finding]) -> int:
    return sum(finding.severity == "error" for finding in told_once(findings))


def _verdict(findings: list[Finding]) -> str:
    errors = _errors(findings)
    if not errors:
        return "Nothing keeps JAX from the GPU here."
    return f"JAX is slow, on the CPU or about to die here, for {counted(errors, 'reason')}."


def _start(start: Mapping[str, Any] | None) -> list[str]:
    if start is None or start["platform"] is None:
        return []
    return [f"JAX started on {start['platform']} with {counted(start['devices'], 'device')} in {start['seconds']:g} s"]
