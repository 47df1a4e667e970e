"""A trace file as values: by ``jax.profiler.ProfileData`` where that pays, else by this library's own reader; both read the same."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .events import Event, Trace
from .hlo import module_of
from .xspace import Plane, events_of, numbered, planes_of

__all__ = ["ENDINGS", "profile_data_events", "programs_in", "read_trace", "trace_bytes", "trace_files", "wire_events"]

LARGE = 4 << 20
"""Bytes from which importing JAX for its reader takes less time than reading without it."""
ENDINGS = (".xplane.pb", ".xplane.pb.gz")
"""How the names of trace files end."""
HLO = ("hlo_proto", "Hlo Proto")
"""The fact of a kind of event that holds a program; its name in newer and older releases."""


def read_trace(source: str | os.PathLike[str] | bytes) -> Trace:
    """A file ``*.xplane.pb``, also gzipped, or the bytes of one. Raises OSError for a file that cannot be read, ValueError for no trace."""
    data = trace_bytes(source)
    try:
        planes = planes_of(data)
    except (IndexError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"This is no trace of JAX's profiler (an XSpace): {error}") from error
    reader = profile_data_events if _jax_reads(len(data)) else None
    events = tuple(reader(data) if reader else wire_events(planes))
    modules = [module_of(value) for value in programs_in(planes)]
    return Trace(events, {plane.name: plane.stats for plane in planes}, {module.name: module for module in modules})


def trace_bytes(source: str | os.PathLike[str] | bytes) -> bytes:
    """The bytes of a trace, as ``read_trace`` takes one, not gzipped. Raises OSError."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def trace_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The trace files below a folder, as ``jax.profiler.start_trace`` lays them out, oldest first."""
    found = [path for ending in ENDINGS for path in Path(folder).rglob(f"*{ending}")]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path))


def _jax_reads(size: int) -> bool:
    """Whether JAX's reader is there (from jax 0.6.2 on), and either loaded already or worth loading."""
    if "jax" not in sys.modules and size < LARGE:
        return False
    try:
        from jax.profiler import ProfileData
    except ImportError:
        return False
    return callable(ProfileData)


def profile_data_events(data: bytes) -> list[Event]:
    """By JAX's own reader, which makes its classes as they are first met: a warning then, where warnings are errors, ends the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return list(_profile_data_events(data))


def _profile_data_events(data: bytes) -> Iterator[Event]:
    from jax.profiler import ProfileData

    for plane in ProfileData.from_serialized_xspace(data).planes:
        lines = list(plane.lines)
        for name, line in zip(numbered([line.name for line in lines]), lines, strict=True):
            for event in line.events:
                yield Event(plane.name, name, event.name, event.start_ns, event.duration_ns, dict(event.stats))


def wire_events(planes: list[Plane]) -> Iterator[Event]:
    """By this library's."""
    return (event for plane in planes for event in events_of(plane))


def programs_in(planes: list[Plane]) -> Iterator[bytes]:
    """Each program that a trace holds: a serialized HloProto."""
    for plane in planes:
        for _, stats in plane.metadata.values():
            found: Any = next((stats[name] for name in HLO if name in stats), None)
            if isinstance(found, bytes):
                yield found
