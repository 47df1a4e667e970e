"""The cache of the probe where somebody else has been: whatever lies at its paths, it is a miss and nothing waits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxgpu_tune.host import probe_cache as cache
from jaxgpu_tune.host.file_lock import locked
from tests.homeless import leave_home

QUESTION = {"flags": ["--xla_gpu_autotune_level=2"]}
ANSWER = {"jaxlib": {"refused": []}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.keep_answer(QUESTION, ANSWER)
    assert cache.kept_answer(QUESTION) == ANSWER
    return tmp_path / "jaxgpu_tune" / "probe"


def huge(path: Path) -> None:
    """Gigabytes, of which the disk holds none."""
    path.touch()
    os.truncate(path, 1 << 40)


PLANTED: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a good file": lambda path: path.symlink_to(path.rename(path.with_name("other"))),
    "a dangling link": lambda path: path.symlink_to("/nowhere/else"),
    "a folder": lambda path: path.mkdir(),
    "a file of a terabyte": huge,
    "bytes that are no text": lambda path: path.write_bytes(b"\xff\xfe"),
    "an empty file": lambda path: path.touch(),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_no_answer_is_a_miss(what: str, folder: Path) -> None:
    (path,) = folder.glob("*.json")
    if what != "a link to a good file":
        path.unlink()
    PLANTED[what](path)
    assert cache.kept_answer(QUESTION) is None


@pytest.mark.parametrize("what", [*PLANTED][:5])
def test_a_lock_that_is_no_file_is_none(what: str, folder: Path, tmp_path: Path) -> None:
    """Nothing is made at the other end of a link, and nobody waits."""
    (path,) = folder.glob("*.json")
    lock = path.with_name(f"{path.name}.lock")
    lock.touch()
    if what != "a link to a good file":
        lock.unlink()
    PLANTED[what](lock)
    with cache.alone({**QUESTION}, deadline=0.0):
        pass
    assert cache._lock_file(QUESTION) is None and not Path("/nowhere").exists()


def test_one_at_a_time_holds_a_question(folder: Path) -> None:
    """Whoever comes second finds it held, until the first lets go."""
    first, second = cache._lock_file(QUESTION), cache._lock_file(QUESTION)
    assert first is not None and second is not None
    (lock,) = folder.glob("*.lock")
    assert lock.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    assert locked(first) is True and locked(second) is False
    os.close(first)
    assert locked(second) is True
    os.close(second)


def test_an_answer_is_kept_for_its_own_question_alone(folder: Path) -> None:
    """Nor is one believed that was changed, or that another form of this library wrote."""
    assert cache.kept_answer({**QUESTION, "more": 1}) is None
    (path,) = folder.glob("*.json")
    whole = path.read_text()
    for old, new in (('"form": 1', '"form": 2'), ('"refused": []', '"refused": [""]'), ("level=2", "level=3")):
        assert old in whole
        path.write_text(whole.replace(old, new))
        assert cache.kept_answer(QUESTION) is None
    path.write_text(whole)
    assert cache.kept_answer(QUESTION) == ANSWER
    assert sorted(entry.suffix for entry in folder.iterdir()) == [".json"]


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
        cache.read_kept(str(tmp_path / "file"), 5)


def test_a_bounded_regular_file_is_read(tmp_path: Path) -> None:
    """Up to the bound itself."""
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert cache.read_kept(str(file), 5) == b"12345"
    with pytest.raises(OSError, match="no regular file of at most 4 bytes"):
        cache.read_kept(str(file), 4)


def test_a_pipe_and_a_device_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for path, regular in ((tmp_path / "file", True), (tmp_path / "pipe", False), (Path("/dev/null"), False)):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        assert cache.is_regular(descriptor) is regular
        os.close(descriptor)


def test_without_a_home_every_question_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_home(monkeypatch)
    cache.keep_answer(QUESTION, ANSWER)
    with cache.alone(QUESTION, 0.0):
        assert cache.kept_answer(QUESTION) is None
