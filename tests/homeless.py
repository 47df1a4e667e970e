"""A user without a home, as containers have that run under a number of their own."""

from __future__ import annotations

import pwd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["leave_home"]


def leave_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names one, and the user has no entry in the system's list."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
