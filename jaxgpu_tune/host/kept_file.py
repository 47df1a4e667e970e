"""Reading a file that somebody else may have put there: a regular one, of a bounded size, without following a link."""

from __future__ import annotations

import os
import stat

__all__ = ["is_regular", "read_kept"]

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Not waiting for the writer of a pipe, either."""


def read_kept(path: str, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Raises OSError for any other."""
    descriptor = os.open(path, FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise OSError(f"{path} is no regular file of at most {most} bytes")
        return file.read(most + 1)[:most]


def is_regular(descriptor: int) -> bool:
    """Whether what is open is a file, and no pipe or device."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
