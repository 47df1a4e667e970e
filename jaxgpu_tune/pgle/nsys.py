"""What Nsight Systems saw, from its SQLite export: ``nsys export --type sqlite report.nsys-rep``.

XLA marks each launch by an NVTX range ``Thunk:#name=…,hlo_op=fusion.1#`` (domain TSL) within
``XlaModule:#hlo_module=jit_step,program_id=3#``; a kernel belongs to the innermost such range of the thread that
launched it, at the time of the launch. Tables as NVIDIA publishes them:
https://docs.nvidia.com/nsight-systems/UserGuide/index.html (SQLite schema reference). The file is only read.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import accumulate
from pathlib import Path

from .profile_files import bad_profile
from .samples import Sample

__all__ = ["is_export", "read_export"]

MAGIC = b"SQLite format 3\0"
EVENTS, STRINGS, LAUNCHES = "NVTX_EVENTS", "StringIds", "CUPTI_ACTIVITY_KIND_RUNTIME"
WORK = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
NEEDED = {
    EVENTS: {"start", "end", "text", "globalTid"},
    STRINGS: {"id", "value"},
    LAUNCHES: {"start", "end", "globalTid", "correlationId"},
    WORK[0]: {"start", "end", "deviceId", "correlationId"},
}
INSTRUCTION = re.compile(r"Thunk:#(?:.*,)?hlo_op=([^,#]+)")
MODULE = re.compile(r"XlaModule:#(?:.*,)?hlo_module=([^,#]+)")
PROCESS = 0x1000000
"""A global thread id holds its process above these bits, a globalPid likewise."""


def is_export(path: Path) -> bool:
    """Whether the file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_export(path: str | Path) -> list[Sample]:
    """Every kernel and copy that an XLA instruction launched. Raises BadSetting that says what the export lacks."""
    file = Path(path)
    try:
        with closing(sqlite3.connect(f"file:{_quoted(file)}?mode=ro", uri=True)) as database:
            columns = _columns(database)
            _check(columns, file)
            found = list(_samples(database, columns, file))
    except sqlite3.Error as wrong:
        raise bad_profile(f"{file} cannot be read: {wrong}.") from None
    if not found:
        hint = "Profile with `nsys profile --trace=cuda,nvtx --cuda-graph-trace=node`, command buffers off."
        raise bad_profile(
            f"{file}: no kernel was launched within a range that names an XLA instruction (hlo_op).", hint
        )
    return found


def _quoted(file: Path) -> str:
    from urllib.parse import quote

    return quote(str(file.absolute()))


def _columns(database: sqlite3.Connection) -> dict[str, set[str]]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    return {name: {row[1] for row in database.execute(f'PRAGMA table_info("{name}")')} for name in tables}


def _check(columns: Mapping[str, set[str]], file: Path) -> None:
    missing = [name for name in NEEDED if name not in columns]
    missing += [f"{name}.{one}" for name in NEEDED if name in columns for one in sorted(NEEDED[name] - columns[name])]
    if missing:
        hint = "Export with `nsys export --type sqlite` what `nsys profile --trace=cuda,nvtx` recorded."
        raise bad_profile(
            f"{file} is no export that tells kernels and NVTX ranges: it lacks {', '.join(missing)}.", hint
        )


def _samples(database: sqlite3.Connection, columns: Mapping[str, set[str]], file: Path) -> Iterator[Sample]:
    thunks, modules = _ranges(database, columns)
    for table in (name for name in WORK if name in columns):
        for name, start, end, device, process, thread, launched in database.execute(_query(table, columns[table])):
            if end is None or (inside := thunks.get(thread, _NONE).at(launched)) is None:
                continue
            module = modules.get(thread, _NONE).at(launched)
            place = f"{file}:{process}:{device}"
            yield Sample(module or "", inside, place, name or table, start, end - start)


def _query(table: str, columns: set[str]) -> str:
    """Kernels or copies, each with the call that launched it; of one process where the table tells processes."""
    name = f"(SELECT value FROM {STRINGS} WHERE id = k.demangledName)" if "demangledName" in columns else f"'{table}'"
    process = f"k.globalPid / {PROCESS}" if "globalPid" in columns else "0"
    same = f"AND r.globalTid / {PROCESS} = k.globalPid / {PROCESS}" if "globalPid" in columns else ""
    return f"""SELECT {name}, k.start, k."end", k.deviceId, {process}, r.globalTid, r.start
        FROM {table} k JOIN {LAUNCHES} r ON r.correlationId = k.correlationId {same} ORDER BY k.start"""


class _Nested:
    """The ranges of one thread, which nest: the innermost at a time."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int, str]] = []
        self.reach: list[int] = []

    def sort(self) -> None:
        """Call it once all ranges are there. ``reach``: until when any range up to this one lasts."""
        self.ranges.sort(key=lambda one: (one[0], -one[1]))
        self.reach = list(accumulate((end for _, end, _ in self.ranges), max))

    def at(self, when: int) -> str | None:
        found = bisect_right(self.ranges, when, key=lambda one: one[0]) - 1
        while found >= 0 and self.reach[found] >= when:
            if self.ranges[found][1] >= when:
                return self.ranges[found][2]
            found -= 1
        return None


_NONE = _Nested()


def _ranges(
    database: sqlite3.Connection, columns: Mapping[str, set[str]]
) -> tuple[dict[int, _Nested], dict[int, _Nested]]:
    """By thread: the ranges of instructions, and those of programs."""
    text = f"COALESCE(e.text, (SELECT value FROM {STRINGS} WHERE id = e.textId))"
    text = text if "textId" in columns[EVENTS] else "e.text"
    thunks: dict[int, _Nested] = {}
    modules: dict[int, _Nested] = {}
    rows = database.execute(f'SELECT e.start, e."end", e.globalTid, {text} FROM {EVENTS} e WHERE e."end" IS NOT NULL')
    for start, end, thread, said in rows:
        for pattern, found in ((INSTRUCTION, thunks), (MODULE, modules)):
            if said and (inside := pattern.search(said)):
                found.setdefault(thread, _Nested()).ranges.append((start, end, inside[1]))
    for nested in (*thunks.values(), *modules.values()):
        nested.sort()
    return thunks, modules
