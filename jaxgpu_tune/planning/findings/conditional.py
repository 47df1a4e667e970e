"""A report under JAXGPU_TUNE=off: what would be done, where the plan says what is done. Pure."""

from __future__ import annotations

import re

from ...model import Finding, Report

__all__ = ["conditional"]

ACTS = r"\bis (left out|taken out|dropped|removed|used instead|used|read as)\b"
"""How findings tell what this library does with a setting."""
STANDS = r"\bnow stands? in\b"


def conditional(report: Report) -> Report:
    """The same report, whose findings claim nothing as done."""
    return report._replace(findings=tuple(map(_would, report.findings)))


def _would(finding: Finding) -> Finding:
    message = re.sub(STANDS, "would stand in", re.sub(ACTS, r"would be \1", finding.message))
    return finding if message == finding.message else finding._replace(message=message)
