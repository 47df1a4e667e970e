"""Findings of what changes nothing: what would be done, where a plan says what is done. Pure."""

from __future__ import annotations

import re

from ...model import Finding, Report

__all__ = ["conditional", "would", "would_be"]

ACTS = re.compile(r"\bis (?:(?P<done>left out|taken out|dropped|removed|used instead|used)\b|read as\b(?! a number))")
"""How findings tell what this library does with a setting; NCCL itself reads a text as a number."""
STANDS = r"\bnow stands? in\b"


def conditional(report: Report, who: str = "") -> Report:
    """The same report, whose findings claim nothing as done. ``who`` would do it, where the reader cannot know."""
    return report._replace(findings=tuple(would(finding, who) for finding in report.findings))


def would_be(said: str, who: str = "") -> str:
    """A sentence of a finding, of something that is not done."""
    by = f" by {who}" if who else ""
    told = ACTS.sub(lambda act: f"would be {act['done']}{by}" if act["done"] else f"would be read{by} as", said)
    return re.sub(STANDS, "would stand in", told)


def would(finding: Finding, who: str = "") -> Finding:
    """The same finding, of something that is not done."""
    message = would_be(finding.message, who)
    return finding if message == finding.message else finding._replace(message=message)
