"""What a watched process leaves behind: a folder of its own with report.json, a log of the observer's troubles, traces."""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any

__all__ = ["Notes", "process_folder", "read_request"]


def process_folder(folder: str) -> str:
    """This process's own, among those of all hosts that share the folder."""
    host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())
    return os.path.join(folder, f"process-{host}-{os.getpid()}")


def read_request(folder: str) -> dict[str, Any]:
    """What is asked of the observer; nothing where that cannot be read."""
    try:
        with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, TypeError, ValueError):
        return {}


class Notes:
    """Writes whole files only, so that who reads them while the program runs never sees half of one."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = threading.Lock()

    def write(self, report: dict[str, Any]) -> None:
        """Replace report.json. A disk that is full or gone loses the report and disturbs nobody."""
        self.write_file("report.json", json.dumps(report).encode())

    def write_file(self, name: str, content: bytes) -> str | None:
        """Write a file whole; its path, None if that failed."""
        path = os.path.join(self.folder, name)
        try:
            with self._lock:
                os.makedirs(self.folder, exist_ok=True)
                with open(path + ".part", "wb") as file:
                    file.write(content)
                os.replace(path + ".part", path)
        except OSError:
            return None
        return path

    def log(self, text: str) -> None:
        """A line in the observer's own log."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(os.path.join(self.folder, "observer.log"), "a", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError:
            pass
