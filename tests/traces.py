"""Synthetic traces: what GPUs and host did, in milliseconds, as the events that JAX's profiler would write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jaxgpu_tune.measure.trace.events import Event, Trace
from jaxgpu_tune.measure.trace.hlo import Instruction, Module
from tests.protobuf import field

MS = 1e6
MODULE = "jit_step"


def ran(op: str, start: float, length: float, *, gpu: int = 0, stream: int = 1, name: str = "", **stats: Any) -> Event:
    """A kernel of the step's program on a GPU's stream."""
    told = {"hlo_op": op, "hlo_module": MODULE, **stats}
    return Event(
        f"/device:GPU:{gpu}", f"Stream #{stream}(Compute)", name or op, round(start * MS), round(length * MS), told
    )


def nccl(op: str, start: float, length: float, *, gpu: int = 0, **stats: Any) -> Event:
    """A kernel of NCCL on a stream of its own."""
    return ran(op, start, length, gpu=gpu, stream=9, name="ncclDevKernel_AllGather_RING_LL(ncclDevComm)", **stats)


def host(name: str, start: float, length: float, *, line: str = "python", **stats: Any) -> Event:
    """Something that the host did."""
    return Event("/host:CPU", line, name, round(start * MS), round(length * MS), stats)


def called(name: str, start: float, length: float = 0.2) -> list[Event]:
    """A call of a jitted function: two events, one in the other, as JAX writes them."""
    return [host(f"PjitFunction({name})", start, length), host(f"PjitFunction({name})", start + 0.01, length - 0.02)]


def trace(*events: Event, gpus: int = 1, instructions: Iterable[Instruction] = ()) -> Trace:
    """A trace of so many GPUs (one that did nothing has its plane, too)."""
    planes: dict[str, Mapping[str, Any]] = {"/host:CPU": {}, **{f"/device:GPU:{number}": {} for number in range(gpus)}}
    module = Module.of(MODULE, instructions)
    return Trace(tuple(events), planes, {MODULE: module})


def repeated(step: Iterable[Event], *, steps: int = 4, every: float = 10.0) -> list[Event]:
    """The same step again and again, and the beginning of one more, which ends the last whole one."""
    one = list(step)
    first = min(one, key=lambda event: (not event.plane.startswith("/device"), event.start_ns))
    again = [event._replace(start_ns=event.start_ns + number * every * MS) for number in range(steps) for event in one]
    return [*again, first._replace(start_ns=first.start_ns + steps * every * MS)]


def instruction(name: str, opcode: str, *does: str, **more: Any) -> Instruction:
    """An instruction of the program."""
    return Instruction(name, opcode, frozenset(does or (opcode,)), **more)


def xspace(events: Iterable[Event], hlo: bytes = b"") -> bytes:
    """The events as the profiler serializes them; ``hlo``: a program (HloProto) beside them."""
    planes: dict[str, dict[str, list[Event]]] = {}
    for event in events:
        planes.setdefault(event.plane, {}).setdefault(event.line, []).append(event)
    written = [field(1, _plane(name, lines)) for name, lines in planes.items()]
    program = field(2, "/host:metadata") + _entry(5, 1, field(2, "hlo_proto"))
    program += _entry(4, 1, field(2, MODULE) + field(5, field(1, 1) + field(6, hlo)))
    return b"".join([*written, field(1, program)] if hlo else written)


def _plane(name: str, lines: Mapping[str, list[Event]]) -> bytes:
    events = [event for several in lines.values() for event in several]
    kinds = {kind: number for number, kind in enumerate(sorted({event.name for event in events}), 1)}
    facts = {fact: number for number, fact in enumerate(sorted({fact for event in events for fact in event.stats}), 1)}
    metadata = [_entry(4, number, field(1, number) + field(2, kind)) for kind, number in kinds.items()]
    stats = [_entry(5, number, field(1, number) + field(2, fact)) for fact, number in facts.items()]
    written = [
        field(3, field(2, line) + field(3, 1000) + b"".join(field(4, _event(e, kinds, facts)) for e in several))
        for line, several in lines.items()
    ]
    return b"".join([field(2, name), *metadata, *stats, *written])


def _event(event: Event, kinds: Mapping[str, int], facts: Mapping[str, int]) -> bytes:
    offset, length = round((event.start_ns - 1000) * 1000), round(event.duration_ns * 1000)
    stats = b"".join(field(4, field(1, facts[fact]) + _value(value)) for fact, value in event.stats.items())
    return field(1, kinds[event.name]) + field(2, offset) + field(3, length) + stats


def _value(value: Any) -> bytes:
    return field(2 if isinstance(value, float) else 5 if isinstance(value, str) else 4, value)


def _entry(tag: int, key: int, value: bytes) -> bytes:
    return field(tag, field(1, key) + field(2, value))
