"""What holds a program's memory: XLA's own plan of its buffers, which a trace keeps beside the program.

Field numbers: BufferAssignmentProto in https://github.com/openxla/xla/blob/main/xla/service/hlo.proto
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...proof.wire import Message

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
    plan = Message(assignment)
    allocations = plan.messages(ALLOCATIONS)
    if not allocations:
        return None
    kinds = {"arguments": 0, "results": 0, "temporary": 0}
    for one in allocations:
        kind = _kind(one)
        if kind:
            kinds[kind] += one.number(SIZE)
    temporary = (one for one in allocations if _kind(one) == "temporary")
    inside = {assigned.number(ID) for one in temporary for assigned in one.messages(ASSIGNED)}
    buffers = (one for one in plan.messages(BUFFERS) if one.number(ID) in inside)
    named = {found for one in buffers if (found := _buffer(one, instructions))}
    largest = sorted(named, key=lambda one: (-one.bytes, one.op))[:MOST]
    return BufferPlan(**kinds, largest=tuple(largest))


def _kind(allocation: Message) -> str:
    if allocation.number(PARAMETER):
        return "arguments"
    if allocation.number(LIVE_OUT):
        return "results"
    return "" if allocation.number(THREAD_LOCAL) or allocation.number(CONSTANT) else "temporary"


def _buffer(buffer: Message, instructions: Mapping[int, tuple[str, str, str]]) -> Buffer | None:
    """None for what only passes on what another instruction wrote."""
    written_by = buffer.message(DEFINED_AT).number(INSTRUCTION)
    name, opcode, source = instructions.get(written_by, ("", "", ""))
    return None if opcode in PASSES_ON else Buffer(buffer.number(SIZE), name, source)
