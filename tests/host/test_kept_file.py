"""Files that somebody else may have put there: a regular one of a bounded size is read, and nothing waits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxgpu_tune.host.kept_file import is_regular, read_kept

OTHERS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a pipe": os.mkfifo,
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a file": lambda path: path.symlink_to(__file__),
    "a folder": lambda path: path.mkdir(),
    "a file that is too large": lambda path: path.write_bytes(b"123456"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_anything_else_is_refused(what: str, tmp_path: Path) -> None:
    OTHERS[what](tmp_path / "file")
    with pytest.raises(OSError, match=r"."):
        read_kept(str(tmp_path / "file"), 5)


def test_a_bounded_regular_file_is_read(tmp_path: Path) -> None:
    """Up to the bound itself."""
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_kept(str(file), 5) == b"12345"
    with pytest.raises(OSError, match="no regular file of at most 4 bytes"):
        read_kept(str(file), 4)


def test_a_pipe_and_a_device_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for path, regular in ((tmp_path / "file", True), (tmp_path / "pipe", False), (Path("/dev/null"), False)):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        assert is_regular(descriptor) is regular
        os.close(descriptor)
