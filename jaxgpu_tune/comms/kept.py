"""What was compiled at run time, kept in the user's cache: in a folder that is the user's alone, each file with its digest."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["kept"]

MOST = 1 << 26
"""Bytes of the largest thing that is kept; a library takes a few ten thousand."""
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DIGEST = hashlib.sha256


def kept(form: str, made_of: object, make: Callable[[], bytes]) -> bytes:
    """What ``make`` returns, or returned before for the same ``made_of``. ``form``: suffix of the file. Raises what ``make`` does."""
    folder = _folder()
    if folder is None or not _is_private(folder):
        # Without a home, or in a folder where others can write, anybody's code may lie.
        return make()
    key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]
    file = folder / f"{key}.{form}"
    code = _read(file)
    if code is None:
        code = make()
        _keep(file, code)
    return code


def _folder() -> Path | None:
    """In the user's cache; None without a home. Older releases of platformdirs give a relative path then."""
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("jaxgpu_tune") / "comms"
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


def _is_private(folder: Path) -> bool:
    """Whether the folder is the user's own and closed to others; one of the user's that is open is closed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(folder, READING | os.O_DIRECTORY)
        try:
            found = os.fstat(opened)
            if found.st_uid == os.getuid() and found.st_mode & 0o077:
                os.fchmod(opened, 0o700)
            return found.st_uid == os.getuid()
        finally:
            os.close(opened)
    except OSError:
        return False


def _read(file: Path) -> bytes | None:
    """What was kept, whole; None for what is missing, cut, another owner's, writable by others, or no regular file."""
    try:
        opened = os.open(file, READING)
        with os.fdopen(opened, "rb") as whole:
            found = os.fstat(opened)
            own = found.st_uid == os.getuid() and not found.st_mode & 0o022
            text = whole.read(MOST) if own and stat.S_ISREG(found.st_mode) else b""
    except OSError:
        return None
    size = DIGEST().digest_size
    return text[size:] if len(text) > size and DIGEST(text[size:]).digest() == text[:size] else None


def _keep(target: Path, code: bytes) -> None:
    """Put a whole file in place, as another process may read it now; a folder that cannot be written is no problem."""
    with suppress(OSError):
        opened, name = tempfile.mkstemp(dir=target.parent)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(DIGEST(code).digest() + code)
            os.replace(name, target)
        except OSError:
            os.unlink(name)
