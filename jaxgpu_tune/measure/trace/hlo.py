"""The programs that a trace holds: of each instruction what it is, how many bytes it takes and gives, and the line it comes from.

Field numbers: https://github.com/openxla/xla/blob/main/xla/service/hlo.proto and https://github.com/openxla/xla/blob/main/xla/xla_data.proto
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from ...proof.wire import Message
from ...values import EMPTY
from .buffer_plan import BufferPlan, buffer_plan

__all__ = ["COLLECTIVES", "Instruction", "Module", "collective_kind", "module_of"]

HLO_MODULE, BUFFER_ASSIGNMENT = 1, 3
MODULE_NAME, COMPUTATIONS, STACK_FRAMES = 1, 3, 17
COMPUTATION_INSTRUCTIONS, COMPUTATION_ID = 2, 5
NAME, OPCODE, SHAPE, METADATA, TARGET, ID, OPERANDS, CALLED, BACKEND = 1, 2, 3, 7, 28, 35, 36, 38, 43
OP_NAME, SOURCE_FILE, SOURCE_LINE, STACK_FRAME = 2, 3, 4, 15
ELEMENT_TYPE, SIZES, TUPLE = 2, 3, 4
FILES, LOCATIONS, FRAMES = 1, 3, 4

TYPES = {
    1: ("pred", 8),
    2: ("s8", 8),
    3: ("s16", 16),
    4: ("s32", 32),
    5: ("s64", 64),
    6: ("u8", 8),
    7: ("u16", 16),
    8: ("u32", 32),
}
TYPES |= {
    9: ("u64", 64),
    10: ("f16", 16),
    11: ("f32", 32),
    12: ("f64", 64),
    15: ("c64", 64),
    16: ("bf16", 16),
    18: ("c128", 128),
}
TYPES |= {19: ("f8e5m2", 8), 20: ("f8e4m3fn", 8), 21: ("s4", 4), 22: ("u4", 4), 23: ("f8e4m3b11fnuz", 8)}
"""The number of an element type -> its name and bits; others (tokens, the newest small floats) count as no bytes."""

COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
    "send",
    "recv",
)
COUNTING = frozenset({"pred", "s32", "s64", "u32", "u64"})
SCALAR = 8
"""Bytes of the largest scalar."""
KNOWN_LENGTH = b"known_trip_count"
"""In the configuration of a loop whose number of turns XLA knows when it compiles (a scan's)."""
CALLERS = ("fusion", "call", "async-start")
NESTED_DEPTH = 8
"""Fusions and asynchronous wrappers call computations, which call others; deeper ones are not followed."""


class Instruction(NamedTuple):
    """One instruction: ``does`` are the opcodes of all that it calls (a fusion's insides), its own without any; a custom call's target.

    What only counts (scalars of whole numbers: where a slice begins) is left out of ``does``.

    ``operand_bytes`` and ``result_bytes`` of an asynchronous start are those of the operation; ``scope`` is JAX's name stack,
    ``source`` "file.py:12" (empty: not known); ``types`` the element types of its operands. ``open_loop``: it is in a loop whose number of
    turns is known only while it runs (``jax.lax.while_loop``).
    """

    name: str
    opcode: str
    does: frozenset[str]
    operand_bytes: int = 0
    result_bytes: int = 0
    types: tuple[str, ...] = ()
    scope: str = ""
    source: str = ""
    open_loop: bool = False


class Module(NamedTuple):
    """A compiled program: its instructions by name, and by the name of the kernel that XLA makes of each (``fusion.3``: ``fusion_3``)."""

    name: str
    instructions: Mapping[str, Instruction] = EMPTY
    kernels: Mapping[str, Instruction] = EMPTY
    memory: BufferPlan | None = None

    @classmethod
    def of(cls, name: str, instructions: Iterable[Instruction], memory: BufferPlan | None = None) -> Module:
        """The program of these instructions."""
        found = {one.name: one for one in instructions}
        return cls(name, found, {re.sub(r"\W", "_", one): instruction for one, instruction in found.items()}, memory)

    def find(self, op: str, kernel: str) -> Instruction | None:
        """The instruction that ran. What a CUDA graph ran says the graph's name (``command_buffer_3``) as ``op``: its kernel's name tells."""
        return self.instructions.get(op) or self.kernels.get(kernel)


class _Raw(NamedTuple):
    """An instruction as it is stored: the ``types`` and the ``size`` in bytes of its shape's arrays, and of each of a tuple's ``members``."""

    name: str
    opcode: str
    number: int
    operands: tuple[int, ...]
    called: tuple[int, ...]
    types: tuple[str, ...]
    size: int
    target: str
    members: tuple[int, ...]
    metadata: Message
    open_loop: bool


def collective_kind(opcode: str) -> str:
    """The collective that an opcode or an instruction's name stands for (``all-gather-start.1``: all-gather); empty: none."""
    plain = opcode.lower().replace("_", "-")
    return next(
        (
            kind
            for kind in COLLECTIVES
            if plain == kind or plain.startswith((f"{kind}-start", f"{kind}-done", f"{kind}."))
        ),
        "",
    )


def module_of(proto: bytes) -> Module:
    """Read a serialized HloProto."""
    whole = Message(proto)
    body = whole.message(HLO_MODULE)
    computations = {
        one.number(COMPUTATION_ID): [_raw(each) for each in one.messages(COMPUTATION_INSTRUCTIONS)]
        for one in body.messages(COMPUTATIONS)
    }
    by_number = {one.number: one for several in computations.values() for one in several}
    sources = _sources(body.message(STACK_FRAMES))
    looped = _in_open_loops(computations)
    found = {
        number: _instruction(one, by_number, computations, sources)._replace(open_loop=number in looped)
        for number, one in by_number.items()
    }
    places = {number: (one.name, one.opcode, one.source) for number, one in found.items()}
    memory = buffer_plan(whole.raw(BUFFER_ASSIGNMENT), places)
    return Module.of(body.text(MODULE_NAME), found.values(), memory)


def _raw(stored: Message) -> _Raw:
    shape, opcode = stored.message(SHAPE), stored.text(OPCODE)
    leaves = list(_leaves(shape))
    return _Raw(
        name=stored.text(NAME),
        opcode=opcode,
        number=stored.number(ID),
        operands=stored.numbers(OPERANDS),
        called=stored.numbers(CALLED),
        types=tuple(kind for kind, _ in leaves),
        size=sum(size for _, size in leaves),
        target=stored.text(TARGET),
        members=tuple(sum(size for _, size in _leaves(member)) for member in shape.messages(TUPLE)),
        open_loop=opcode == "while" and KNOWN_LENGTH not in stored.raw(BACKEND),
        metadata=stored.message(METADATA),
    )


def _leaves(shape: Message) -> Iterator[tuple[str, int]]:
    """(element type, bytes) of each array in a shape."""
    for member in shape.messages(TUPLE):
        yield from _leaves(member)
    kind, bits = TYPES.get(shape.number(ELEMENT_TYPE), ("", 0))
    if kind:
        yield kind, prod(shape.numbers(SIZES)) * bits // 8


def _instruction(
    raw: _Raw, by_number: Mapping[int, _Raw], computations: Mapping[int, list[_Raw]], sources: Mapping[int, str]
) -> Instruction:
    operands = [by_number[number] for number in raw.operands if number in by_number]
    taken, given = sum(one.size for one in operands), raw.size
    if raw.opcode.endswith("-start") and len(raw.members) >= 2 and collective_kind(raw.opcode) != "all-reduce":
        taken, given = raw.members[0], raw.members[1]  # (operands, results, …)
    return Instruction(
        name=raw.name,
        opcode=raw.opcode,
        does=frozenset(_does(raw, computations, NESTED_DEPTH)),
        operand_bytes=taken,
        result_bytes=given,
        types=tuple(kind for one in operands for kind in one.types),
        scope=raw.metadata.text(OP_NAME),
        source=_source(raw.metadata, sources),
    )


def _in_open_loops(computations: Mapping[int, list[_Raw]]) -> set[int]:
    """The numbers of all instructions that an open loop runs, and what it calls."""
    left = [number for several in computations.values() for one in several if one.open_loop for number in one.called]
    seen: set[int] = set()
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            left += [number for one in computations.get(at, ()) for number in one.called]
    return {one.number for at in seen for one in computations.get(at, ())}


def _does(raw: _Raw, computations: Mapping[int, list[_Raw]], depth: int) -> Iterator[str]:
    inside = [one for number in raw.called for one in computations.get(number, ())]
    if not inside or depth == 0 or raw.opcode not in CALLERS:
        yield raw.target or raw.opcode
        return
    for one in inside:
        if one.size > SCALAR or not COUNTING.issuperset(one.types):
            yield from _does(one, computations, depth - 1)


def _source(metadata: Message, sources: Mapping[int, str]) -> str:
    """Where it was written: said by the instruction, in newer releases by the number of a stack frame."""
    file = metadata.text(SOURCE_FILE)
    if file:
        return f"{_short(file)}:{metadata.number(SOURCE_LINE)}"
    return sources.get(metadata.number(STACK_FRAME), "")


def _sources(index: Message) -> dict[int, str]:
    """The number of each stack frame -> "file.py:12"; all numbers count from 1."""
    files = [_short(name.decode(errors="replace")) for name in index.all(FILES)]
    places = index.messages(LOCATIONS) if files else []
    lines = [f"{files[(place.number(1) or 1) - 1]}:{place.number(3)}" for place in places]
    frames = [frame.number(1) for frame in index.messages(FRAMES)]
    return {number: lines[place - 1] for number, place in enumerate(frames, 1) if 0 < place <= len(lines)}


def _short(path: str) -> str:
    """The last two parts of a path, which tell a person where to look."""
    return "/".join(path.split("/")[-2:])
