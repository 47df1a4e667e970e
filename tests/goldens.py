"""Files that hold whole texts as they are shown; GOLDEN=write writes them anew."""

from __future__ import annotations

import os
from pathlib import Path


def golden(file: Path, told: str) -> str:
    """What the file holds; it holds what is told now where that is to be written."""
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(told, encoding="utf-8")
    return file.read_text(encoding="utf-8")
