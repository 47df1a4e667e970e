"""A copy of the repository in which faults are planted, one at a time: also child processes of its tests see them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .faults import Fault


class Copy:
    """What git knows of the repository, and its changes, in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name).resolve() / "copy"
        self.root.mkdir()
        asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(asked, cwd=root, capture_output=True, check=True).stdout
        archive = ["tar", "--null", "--files-from=-", "--ignore-failed-read", "-cf", "-"]
        packed = subprocess.run(
            archive, cwd=root, input=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        subprocess.run(["tar", "-xf", "-"], cwd=self.root, input=packed.stdout, check=True)

    @contextlib.contextmanager
    def planted(self, path: Path, fault: Fault) -> Iterator[None]:
        """The fault is in the file for as long. Its time differs, too: what Python has compiled of the sound file is not taken for it."""
        file = self.root / path
        sound, was = file.read_text(), file.stat()
        file.write_text(fault.planted(sound))
        os.utime(file, (was.st_atime, was.st_mtime - 10))
        try:
            yield
        finally:
            file.write_text(sound)
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))

    def end(self) -> None:
        """Remove the copy."""
        self._folder.cleanup()
