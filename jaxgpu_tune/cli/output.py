"""What the commands print, and the exit code that follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from ..model import Finding, jsonable

__all__ = ["exit_by", "print_json", "tell"]


def print_json(value: Any, *, err: bool = False) -> None:
    """``value`` on stdout (or stderr); this library's values as objects."""
    click.echo(json.dumps(jsonable(value), indent=2, ensure_ascii=False), err=err)


def tell(findings: Iterable[Finding]) -> None:
    """Errors and warnings on stderr, where no shell evaluates them."""
    from ..render.text import findings_text

    text = findings_text(finding for finding in findings if finding.severity != "note")
    if text:
        click.echo(text, err=True)


def exit_by(findings: Iterable[Finding]) -> None:
    """End with 1 if one of them is an error."""
    if any(finding.severity == "error" for finding in findings):
        click.get_current_context().exit(1)
