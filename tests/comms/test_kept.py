"""What comms compiles is kept where only the user can put it, and is whole or made again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxgpu_tune.comms import kept as module
from jaxgpu_tune.comms.kept import kept
from tests.homeless import leave_home


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, with one thing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept("so", "made of", lambda: b"good") == b"good"
    return tmp_path / "jaxgpu_tune" / "comms"


def again() -> bytes:
    """What is handed out now: what is kept, or what is made anew."""
    return kept("so", "made of", lambda: b"new")


def test_it_is_kept_in_a_folder_of_the_users_alone(folder: Path) -> None:
    assert again() == b"good"
    assert folder.stat().st_mode & 0o777 == 0o700
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [0, 1, 31, 32, 35])
def test_an_empty_or_cut_file_is_made_again(folder: Path, size: int) -> None:
    (file,) = folder.iterdir()
    os.truncate(file, size)
    assert again() == b"new" and again() == b"new" and kept("so", "made of", lambda: b"third") == b"new"


def test_other_content_is_made_again(folder: Path) -> None:
    (file,) = folder.iterdir()
    file.write_bytes(b"x" * 64)
    assert again() == b"new"


def test_a_file_that_others_may_write_is_made_again(folder: Path) -> None:
    (file,) = folder.iterdir()
    file.chmod(0o666)
    assert again() == b"new"
    assert next(folder.iterdir()).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_read(folder: Path, kind: str) -> None:
    (file,) = folder.iterdir()
    planted = file.rename(folder.parent / "planted")
    if kind == "link":
        file.symlink_to(planted)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    assert again() == b"new"


def test_an_open_folder_is_closed(folder: Path) -> None:
    folder.chmod(0o777)
    assert again() == b"good" and folder.stat().st_mode & 0o777 == 0o700


def test_another_owners_folder_and_file_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared cache: whoever came first could have put any library there."""
    monkeypatch.setattr(module.os, "getuid", lambda: os.stat(folder).st_uid + 1)
    assert again() == b"new" and kept("so", "made of", lambda: b"third") == b"third"
    assert module._read(next(folder.iterdir())) is None


def test_a_link_in_the_folders_place_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert again() == b"new" and len(list((tmp_path / "elsewhere").iterdir())) == 1


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "replace", full)
    assert kept("so", "another", lambda: b"code") == b"code"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("older", [True, False])
def test_without_a_home_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: bool) -> None:
    """Nor read: a library in the present folder may be anybody's. Older releases of platformdirs then give a relative path."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    if older:
        monkeypatch.setattr("platformdirs.user_cache_path", Path)
    else:
        leave_home(monkeypatch)
    assert [kept("so", "a", lambda made=made: made) for made in (b"first", b"again")] == [b"first", b"again"]
    assert not list(here.iterdir())
