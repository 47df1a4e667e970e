"""An interpreter that counts how often it is started."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

REAL = Path(sys.executable)


def counting(folder: Path, then: str = f'exec {REAL} "$@"') -> Path:
    """An interpreter that notes each start."""
    script = folder / "counting-python"
    script.write_text(f"#!/bin/sh\necho started >> {folder}/started\n{then}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def count(folder: Path) -> int:
    """How often the counting interpreter was started."""
    return len((folder / "started").read_text().split()) if (folder / "started").exists() else 0
