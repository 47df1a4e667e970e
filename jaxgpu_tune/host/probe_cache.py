"""What installed binaries answered, kept in the user's cache folder: one whole file for each question.

Files are put in place by renaming, so that no reader ever sees half of one. One process asks while the others that want
the same wait for its answer. Whatever is wrong with the folder, the question is asked all the same.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from .file_lock import locked
from .user_cache import user_cache

__all__ = ["Question", "alone", "keep_answer", "kept_answer"]

Question = Mapping[str, Any]
"""JSON-ready; all that the answer depends on."""

FORM = 1
MOST = 1 << 20
"""Bytes of the largest answer; one about all flags of a release takes a hundredth of that."""
WARY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Of what somebody else may have put there: no link is followed, and no writer of a pipe is waited for."""
PAUSE = 0.05  # seconds between two looks at what another process is doing


def kept_answer(question: Question) -> Any:
    """The answer that was kept for exactly this question; None without one, or if the file is not whole."""
    path = _path(question)
    if path is None:
        return None
    try:
        kept = json.loads(read_kept(path, MOST))
        if kept["form"] == FORM and kept["question"] == question and kept["digest"] == _digest(kept["answer"]):
            return kept["answer"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, MemoryError):
        pass
    return None


def read_kept(path: str, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Raises OSError for any other."""
    descriptor = os.open(path, os.O_RDONLY | WARY)
    with os.fdopen(descriptor, "rb") as file:
        if not is_regular(descriptor) or os.fstat(descriptor).st_size > most:
            raise OSError(f"{path} is no regular file of at most {most} bytes")
        return file.read(most + 1)[:most]


def is_regular(descriptor: int) -> bool:
    """Whether what is open is a file, and no pipe or device."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def keep_answer(question: Question, answer: Any) -> None:
    """Keep an answer; a folder that cannot be written to is left alone."""
    path = _path(question)
    if path is None:
        return
    text = json.dumps({"form": FORM, "question": question, "answer": answer, "digest": _digest(answer)})
    ours = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
    with suppress(OSError):
        try:
            with open(ours, "x", encoding="utf-8") as file:
                file.write(text)
            os.replace(ours, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(ours)


@contextmanager
def alone(question: Question, deadline: float) -> Iterator[None]:
    """Hold the question, waiting until ``deadline`` (``time.monotonic``) for whoever holds it.

    Gives up waiting at once where files cannot be locked, and when somebody's answer is there.
    """
    file = _lock_file(question)
    try:
        while file is not None and not locked(file) and time.monotonic() < deadline and kept_answer(question) is None:
            time.sleep(PAUSE)
        yield
    finally:
        if file is not None:
            os.close(file)


def _lock_file(question: Question) -> int | None:
    path = _path(question)
    try:
        file = None if path is None else os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | WARY, 0o600)
    except OSError:
        return None
    if file is not None and not is_regular(file):
        os.close(file)
        return None
    return file


def _path(question: Question) -> str | None:
    """Where the answer lies; makes the folder. None where there can be none."""
    folder = user_cache("probe")
    if folder is None:
        return None
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"{_digest(question)}.json")


def _digest(value: Any) -> str:
    from hashlib import sha256

    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
