"""The frozen values that a trace is read into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...values import EMPTY

if TYPE_CHECKING:
    from .hlo import Module

__all__ = ["HOST", "Event", "Trace", "gpu_number"]

HOST = "/host:CPU"
GPU = "/device:GPU:"


class Event(NamedTuple):
    """One event of a trace; times in nanoseconds from a zero that all planes of the trace share.

    ``line``: a stream of a GPU or a thread of the host, numbered where several have one name.
    ``stats``: what else is known; of a kernel ``hlo_op``, ``hlo_module``, ``tf_op``, ``name``, ``correlation_id``, ``kernel_details``, …
    """

    plane: str
    line: str
    name: str
    start_ns: float
    duration_ns: float
    stats: Mapping[str, Any] = EMPTY

    @property
    def end_ns(self) -> float:
        """When it ended."""
        return self.start_ns + self.duration_ns


class Trace(NamedTuple):
    """All events, every plane's name (one may be empty: a GPU that did nothing) with its facts, and the programs that ran, by name."""

    events: tuple[Event, ...]
    planes: Mapping[str, Mapping[str, Any]]
    modules: Mapping[str, Module]

    def gpus(self) -> tuple[str, ...]:
        """The names of the GPUs' planes, in the order of their numbers."""
        return tuple(sorted((name for name in self.planes if name.startswith(GPU)), key=gpu_number))

    def on(self, plane: str) -> Iterator[Event]:
        """The events of one plane; of a GPU only what its streams ran, not what other tools derive from it."""
        streams = plane.startswith(GPU)
        return (e for e in self.events if e.plane == plane and (not streams or e.line.startswith("Stream")))


def gpu_number(plane: str) -> int:
    """The number of the GPU that a plane is of; -1 for other planes."""
    tail = plane.removeprefix(GPU).split(" ")[0]
    return int(tail) if plane.startswith(GPU) and tail.isdigit() else -1
