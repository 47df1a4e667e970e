"""What the commands print, and the exit code that follows from it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import click

from ..model import Finding

__all__ = ["exit_by", "print_json", "tell"]


def print_json(value: Any, *, err: bool = False) -> None:
    """``value`` on stdout (or stderr); dataclasses as objects, whatever JSON has no form for as its text."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_plain), err=err)


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


def _plain(value: Any) -> Any:
    from dataclasses import is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return str(value)
