"""The package's own files, which are read as it was imported: it may lie in a zip file, as Spark and Bazel have it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PACKAGE", "own_text"]

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def own_text(path: str) -> str:
    """What a file of the package says; ``path``: below ``PACKAGE``. Raises OSError where there is none."""
    loader: Any = globals()["__loader__"]
    return str(loader.get_data(path), "utf-8")
