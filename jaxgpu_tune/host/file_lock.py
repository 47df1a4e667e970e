"""A lock on an open file: one process at a time, until it closes the file or ends."""

from __future__ import annotations

__all__ = ["locked"]


def locked(file: int) -> bool:
    """Whether the lock is ours, or there is no such thing as a lock here."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True
