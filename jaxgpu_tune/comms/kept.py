"""What was compiled at run time, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["kept"]


def kept(form: str, made_of: object, make: Callable[[], bytes]) -> bytes:
    """What ``make`` returns, or returned before for the same ``made_of``. ``form``: suffix of the file. Raises what ``make`` does."""
    folder = _folder()
    if not folder.is_absolute():  # no home: where the program happens to be, anybody's code may lie
        return make()
    key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]
    file = folder / f"{key}.{form}"
    try:
        return file.read_bytes()
    except OSError:
        code = make()
        _keep(file, code)
        return code


def _folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("jaxgpu_tune") / "comms"


def _keep(target: Path, code: bytes) -> None:
    """Put a whole file in place, as another process may read it now; a folder that cannot be written is no problem."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, target)
    except OSError:
        return
