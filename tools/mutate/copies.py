"""A copy of the repository in which faults are planted, one at a time: also child processes of its tests see them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .faults import Fault

_FAILED = (1, 2)  # pytest's codes for failed tests and for modules that cannot be imported


class Copy:
    """What git knows of the repository, and its changes, in a folder of its own. ``patience``: seconds; a fault that makes tests take longer is noticed."""

    def __init__(self, root: Path, patience: float) -> None:
        self._patience = patience
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name)
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout
        archive = ["tar", "--null", "--files-from=-", "--ignore-failed-read", "-cf", "-"]
        packed = subprocess.run(
            archive, cwd=root, input=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        subprocess.run(["tar", "-xf", "-"], cwd=self.root, input=packed.stdout, check=True)

    def notices(self, path: Path, fault: Fault, tests: Sequence[str]) -> bool:
        """Whether a test fails while the fault is there: the nearest ones run first, and those further off where all of them pass. Each of ``tests``: paths, with blanks between."""
        file = self.root / path
        sound = file.read_text()
        file.write_text(fault.planted(sound))
        try:
            return any(self._status(nearest) in _FAILED for nearest in tests)
        except subprocess.TimeoutExpired:
            return True
        finally:
            file.write_text(sound)

    def _status(self, tests: str) -> int:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            *tests.split(),
        ]
        environ = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": ""}
        done = subprocess.run(
            command,
            cwd=self.root,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=self._patience,
        )
        return done.returncode

    def end(self) -> None:
        """Remove the copy."""
        self._folder.cleanup()
