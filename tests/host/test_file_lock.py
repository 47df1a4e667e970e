"""Locks on files."""

from __future__ import annotations

from pathlib import Path

from jaxgpu_tune.host.file_lock import locked


def test_who_comes_second_finds_it_held_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with path.open("rb") as second:
        with path.open("rb") as first:
            assert locked(first.fileno()) is True and locked(second.fileno()) is False
        assert locked(second.fileno()) is True


def test_where_nothing_can_be_locked_nobody_waits(tmp_path: Path) -> None:
    """As on a file system without locks: here the file is closed already."""
    with (tmp_path / "file").open("wb") as file:
        number = file.fileno()
    assert locked(number) is True
