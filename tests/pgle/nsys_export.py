"""An SQLite export as ``nsys export`` writes it: the tables of NVIDIA's published schema, as far as CUDA and NVTX go."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER REFERENCES StringIds(id), domainId INTEGER,
  uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL,
  jsonTextId INTEGER, jsonText TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL REFERENCES StringIds(id), returnValue INTEGER NOT NULL,
  callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL, blockX INTEGER NOT NULL, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL);
"""
PUSH_POP, DOMAIN = 59, 3
LAUNCH = 1


class Export:
    """Written call by call; times in microseconds, in the file nanoseconds."""

    def __init__(self, path: Path, process: int = 100) -> None:
        self.path, self.process, self.calls = path, process, 0
        self.strings: dict[str, int] = {"cudaLaunchKernelExC": LAUNCH}
        with closing(sqlite3.connect(path)) as database:
            if not database.execute("SELECT name FROM sqlite_master WHERE name = 'StringIds'").fetchall():
                database.executescript(SCHEMA)

    @property
    def thread(self) -> int:
        return self.process * 0x1000000 + 7

    def range(self, text: str, start: float, end: float, *, registered: bool = False) -> None:
        said = (None, self.string(text)) if registered else (text, None)
        values = (int(1e3 * start), int(1e3 * end), PUSH_POP, said[0], self.thread, said[1], DOMAIN)
        self.write("NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId)", values)

    def kernel(self, name: str, launched: float, start: float, took: float, device: int = 0) -> None:
        self.launch(launched)
        columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX, blockX"
        times = (int(1e3 * start), int(1e3 * (start + took)))
        values = (*times, device, 1, 7, self.calls, self.process * 0x1000000, self.string(name), 0, 1, 1)
        self.write(f"CUPTI_ACTIVITY_KIND_KERNEL ({columns})", values)

    def copy(self, launched: float, start: float, took: float, device: int = 0) -> None:
        self.launch(launched)
        columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind"
        times = (int(1e3 * start), int(1e3 * (start + took)))
        values = (*times, device, 1, 7, self.calls, self.process * 0x1000000, 64, 8)
        self.write(f"CUPTI_ACTIVITY_KIND_MEMCPY ({columns})", values)

    def launch(self, when: float) -> None:
        self.calls += 1
        values = (int(1e3 * when), int(1e3 * when) + 500, 0, self.thread, self.calls, LAUNCH, 0)
        columns = "start, end, eventClass, globalTid, correlationId, nameId, returnValue"
        self.write(f"CUPTI_ACTIVITY_KIND_RUNTIME ({columns})", values)

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = 1000 * self.process + len(self.strings)
            self.write("StringIds (id, value)", (self.strings[text], text))
        return self.strings[text]

    def write(self, table: str, values: tuple[object, ...]) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            marks = ", ".join("?" * len(values))
            database.execute(f"INSERT INTO {table} VALUES ({marks})", values)
