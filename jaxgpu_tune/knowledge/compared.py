"""How much it matters where a setting differs between the processes of a job (``data/processes.toml``)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from ..model import SettingKind, Severity
from .tables import KEYS, read_table

__all__ = ["severity_of"]


def severity_of(kind: SettingKind, name: str) -> Severity | None:
    """The severity of a difference; None: each process may have its own."""
    entry: dict[str, Any] | None = next(
        (e for e in read_table("processes")["compared"] if _fits(name, e, KEYS[kind])), None
    )
    if entry is None:
        return None if kind == "env" else "error"
    return None if entry["severity"] == "ignored" else entry["severity"]


def _fits(name: str, entry: dict[str, Any], key: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in entry.get(key, ()))
