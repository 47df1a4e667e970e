"""The file of results: read as it is, added to as a whole, by several suites and lanes at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks.outcome import read


class Kept:
    """``results``: what the file holds; ``same``: for each workload, variants whose settings are those of another."""

    def __init__(self, path: Path, size: str, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.size = size
        self.facts = facts
        self.same: dict[str, dict[str, str]] = {}
        self.results = self._read()
        self._lock = Lock()

    def machine(self) -> int:
        """The number of this machine among those of the results."""
        known = self.results["machines"]
        if self.facts not in known:
            known.append(self.facts)
        return int(known.index(self.facts))

    def add(self, run: Mapping[str, Any]) -> None:
        """A result, with the number of this machine; the file is replaced as a whole."""
        with self._lock, self._alone():
            self.results = self._read()
            self.results["runs"].append({**run, "machine": self.machine()})
            self.results["same"] |= self.same
            partial = self.path.with_suffix(".part")
            partial.write_text(json.dumps(self.results, indent=1) + "\n")
            os.replace(partial, self.path)

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"size": self.size, "machines": [], "same": {}, "runs": []}
        results = read(self.path)
        if results["size"] != self.size:
            raise SystemExit(f"{self.path} holds results of size {results['size']}, not {self.size}: give --name")
        return results

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other suite reads or writes the file."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
