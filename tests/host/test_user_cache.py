"""This user's cache folder, and where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxgpu_tune.host.user_cache import user_cache
from tests.homeless import leave_home

if TYPE_CHECKING:
    import pytest


def test_it_is_where_the_system_s_users_have_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache("probe") == str(tmp_path / "jaxgpu_tune" / "probe")


def test_without_a_home_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor in the present folder, which older releases of platformdirs would give."""
    leave_home(monkeypatch)
    assert user_cache("probe") is None
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: "~/.cache/jaxgpu_tune")
    assert user_cache("probe") is None
