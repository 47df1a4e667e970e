"""A verification as plain text and as HTML: what went wrong first, then every setting with what was read back."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..wording import told_once
from .html import boxed, code_html, finding_html, table_html, value_html
from .parts import label
from .table import hanging, wrapped
from .text import findings_lines, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..proof.verification import Verification, Verified


__all__ = ["render_verification", "render_verification_html"]

STATUSES = ("ignored", "overwritten", "overridden", "unreadable", "effective")
"""Worst first."""


def render_verification(verification: Verification, width: int | None = None) -> str:
    """In lines of at most ``width`` columns (default: the terminal's; 100 where there is none)."""
    columns = width or terminal_width()
    lines = [*hanging(_title(verification), columns), *findings_lines(verification.findings, columns)]
    told = " ".join(finding.message for finding in verification.findings)
    return "\n".join([*lines, *(line for item in _sorted(verification) for line in _stacked(item, told, columns))])


def render_verification_html(verification: Verification) -> str:
    """As one ``<div>`` with its own style."""
    rows = (
        (code_html(label(item)), value_html(item.value), item.status, escape(_why(item)))
        for item in _sorted(verification)
    )
    parts = [
        f"<strong>{escape(_title(verification))}</strong>",
        *map(finding_html, told_once(verification.findings)),
        table_html(("setting", "value", "status", "why"), rows),
    ]
    return boxed(*parts)


def _title(verification: Verification) -> str:
    found = [item.status for item in verification.items]
    counts = ", ".join(f"{found.count(status)} {status}" for status in reversed(STATUSES) if status in found)
    where = f" on {verification.devices} x {verification.platform}" if verification.platform else ""
    return f"jaxgpu_tune verify: {'ok' if verification.ok else 'not ok'}{where}; {counts or 'no settings'}"


def _sorted(verification: Verification) -> Iterator[Verified]:
    return iter(sorted(verification.items, key=lambda item: STATUSES.index(item.status)))


def _stacked(item: Verified, told: str, width: int) -> list[str]:
    """``told``: the messages of the findings; what they say of it is not said again."""
    value = "(removed)" if item.value is None else item.value or "(empty)"
    why = _found(item) if item.why in told else _why(item)
    lines = wrapped(f"{label(item)} = {value} ({item.status})", width, "  ")
    return [*lines, *wrapped(why, width, "      ")] if why else lines


def _why(item: Verified) -> str:
    return f"{item.why} {_found(item)}".rstrip()


def _found(item: Verified) -> str:
    return f"[read back: {item.found}]" if item.found is not None and item.found != item.value else ""
