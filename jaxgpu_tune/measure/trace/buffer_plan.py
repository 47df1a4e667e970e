"""What holds a program's memory: XLA's own plan of its buffers, which a trace keeps beside the program.

Field numbers: BufferAssignmentProto in https://github.com/openxla/xla/blob/main/xla/service/hlo.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...proof.wire import entries, fields_by_number

__all__ = ["Buffer", "BufferPlan", "buffer_plan"]

BUFFERS, ALLOCATIONS = 1, 3
SIZE, THREAD_LOCAL, PARAMETER, LIVE_OUT, CONSTANT, ASSIGNED = 2, 3, 5, 7, 12, 9
ID, DEFINED_AT, INSTRUCTION = 1, 3, 4
MOST = 8
PASSES_ON = frozenset(("", "parameter", "while", "tuple", "get-tuple-element", "conditional", "call"))


class Buffer(NamedTuple):
    """A temporary of ``bytes`` that an instruction writes, and the line that it comes from (empty: not known)."""

    bytes: int
    op: str
    source: str


class BufferPlan(NamedTuple):
    """Bytes of a program on one device, as XLA plans them before it runs.

    ``arguments``: what goes in (state and batch; what is donated holds results, too); ``results``: what else comes out;
    ``temporary``: for what is computed between; ``largest``: the largest of those, not all of them alive at once.
    """

    arguments: int
    results: int
    temporary: int
    largest: tuple[Buffer, ...] = ()


def buffer_plan(assignment: bytes, instructions: Mapping[int, tuple[str, str, str]]) -> BufferPlan | None:
    """Read a serialized BufferAssignmentProto; ``instructions``: (name, opcode, source) by number. None: there is nothing in it."""
    allocations = [fields_by_number(value) for value in _all(assignment, ALLOCATIONS)]
    if not allocations:
        return None
    kinds = {"arguments": 0, "results": 0, "temporary": 0}
    for one in allocations:
        kind = _kind(one)
        if kind:
            kinds[kind] += _number(one, SIZE)
    inside = {number for one in allocations if _kind(one) == "temporary" for number in _assigned(one)}
    buffers = (fields_by_number(value) for value in _all(assignment, BUFFERS))
    named = {found for one in buffers if _number(one, ID) in inside and (found := _buffer(one, instructions))}
    largest = sorted(named, key=lambda one: (-one.bytes, one.op))[:MOST]
    return BufferPlan(**kinds, largest=tuple(largest))


def _kind(allocation: Mapping[int, list[Any]]) -> str:
    if _number(allocation, PARAMETER):
        return "arguments"
    if _number(allocation, LIVE_OUT):
        return "results"
    return "" if _number(allocation, THREAD_LOCAL) or _number(allocation, CONSTANT) else "temporary"


def _assigned(allocation: Mapping[int, list[Any]]) -> Iterator[int]:
    return (_number(fields_by_number(one), ID) for one in allocation.get(ASSIGNED, ()))


def _buffer(buffer: Mapping[int, list[Any]], instructions: Mapping[int, tuple[str, str, str]]) -> Buffer | None:
    """None for what only passes on what another instruction wrote."""
    where = fields_by_number(buffer[DEFINED_AT][-1]) if DEFINED_AT in buffer else {}
    name, opcode, source = instructions.get(_number(where, INSTRUCTION), ("", "", ""))
    return None if opcode in PASSES_ON else Buffer(_number(buffer, SIZE), name, source)


def _all(data: bytes, field: int) -> Iterable[Any]:
    return (value for number, _, value, _ in entries(data) if number == field)


def _number(parts: Mapping[int, list[Any]], field: int) -> int:
    return int(parts[field][-1]) if field in parts else 0
