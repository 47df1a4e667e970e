"""What of a compiled program the scheduler looks up in a profile, from its HLO text or from the copy that a trace holds.

An instruction's name changes after scheduling (``all-gather-start.1`` that nothing overlaps becomes
``all-gather.4``); XLA keeps the name that the scheduler looks up as ``scheduling_name``, and a trace knows an
instruction by the later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..proof.wire import pairs, varint
from .profile_files import bad_profile

__all__ = ["Program", "ScheduledInstruction", "program_of_proto", "program_of_text", "read_program"]

NOT_MISSED = frozenset(
    {
        *("parameter", "constant", "bitcast", "get-tuple-element", "tuple", "while", "after-all"),
        *("partition-id", "replica-id", "opt-barrier", "add-dependency", "copy"),
    }
)
"""Opcodes whose cost XLA's checker does not miss: they take no time, or (copies) the newest releases pass them over."""
LINE = re.compile(r"^\s+(?:ROOT )?%?(?P<name>[\w.-]+) = .*? (?P<opcode>[a-z][a-z0-9-]*)\(", re.MULTILINE)
HEADER = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.-]+) .*\{$")
SCHEDULED = re.compile(r'scheduling_name="([^"]*)"')
CALLED = re.compile(r"\b(?:body|condition)=%?([\w.-]+)")
FINGERPRINT = re.compile(r'fingerprint_before_lhs="?([0-9a-f]+)')
MODULE = re.compile(r"^HloModule ([^\s,]+)", re.MULTILINE)


class ScheduledInstruction(NamedTuple):
    """``name`` as a trace tells it, ``scheduled`` as the scheduler looks it up (empty: made after scheduling).

    ``wrapped``: of a start, the instruction inside that its kernels are named by; the scheduler takes that name as
    well.
    """

    name: str
    scheduled: str
    opcode: str
    computation: str
    wrapped: str = ""


class Program(NamedTuple):
    """A compiled program.

    ``looped``: its entry and the bodies and conditions of its loops, which the scheduler orders.
    """

    name: str
    fingerprint: str
    instructions: tuple[ScheduledInstruction, ...]
    looped: frozenset[str]

    @property
    def scheduled_names(self) -> Mapping[str, str]:
        """The name that the scheduler looks up, by the name that a trace tells."""
        known = [one for one in self.instructions if one.scheduled]
        plain = {one.name: one.scheduled for one in known}
        return plain | {one.wrapped: one.scheduled for one in known if one.wrapped}

    @property
    def looked_up(self) -> frozenset[str]:
        """The names of the instructions whose cost the scheduler wants.

        Those that do work, collectives by their start.
        """
        ours = (one for one in self.instructions if one.computation in self.looped and one.scheduled)
        return frozenset(one.scheduled for one in ours if one.opcode not in NOT_MISSED and not _ends(one))


def _ends(one: ScheduledInstruction) -> bool:
    return one.opcode.endswith("-done") or one.scheduled.partition(".")[0].endswith("-done")


def read_program(path: str | Path) -> Program:
    """The program in a file of HLO text, as ``compiled.as_text()`` and XLA's dumps give it. Raises BadSetting."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise bad_profile(f"{path}: {error.strerror}.") from None
    program = program_of_text(text)
    if not program.instructions:
        hint = "Write jax.jit(f).lower(...).compile().as_text() to a file, or take …after_optimizations.txt of --xla_dump_to."
        raise bad_profile(f"{path} holds no HLO text of a compiled program.", hint)
    return program


def program_of_text(text: str) -> Program:
    """The program that HLO text describes; without instructions where it describes none."""
    name, bound = MODULE.search(text), FINGERPRINT.search(text)
    looped = set(CALLED.findall(text))
    found: list[ScheduledInstruction] = []
    computation = ""
    for line in text.splitlines():
        if header := HEADER.match(line):
            computation = header["name"]
            looped |= {computation} if header["entry"] else set()
        elif (one := LINE.match(line)) and computation:
            scheduled = SCHEDULED.search(line)
            found.append(
                ScheduledInstruction(one["name"], scheduled[1] if scheduled else "", one["opcode"], computation)
            )
    return _named(Program(name[1] if name else "", bound[1] if bound else "", tuple(found), frozenset(looped)))


def _named(program: Program) -> Program:
    """The names as they are, where none was kept of the time of scheduling.

    So it is in older releases, and where the scheduler did not run.
    """
    if any(one.scheduled for one in program.instructions):
        return program
    return program._replace(instructions=tuple(one._replace(scheduled=one.name) for one in program.instructions))


# Field numbers of xla/service/hlo.proto and xla/xla_data.proto, read off the descriptors in jaxlib's binary.
MODULE_NAME, MODULE_COMPUTATIONS, MODULE_ENTRY, MODULE_ATTRIBUTES = 1, 3, 6, 19
COMPUTATION_NAME, COMPUTATION_INSTRUCTIONS, COMPUTATION_ID, COMPUTATION_ROOT = 1, 2, 5, 6
NAME, OPCODE, METADATA, INSTRUCTION_ID, CALLED_IDS, ATTRIBUTES = 1, 2, 7, 35, 38, 68
SCHEDULING_NAME = 16
KEY = "fingerprint_before_lhs"
Field = tuple[int, Any]
"""(number, value), the value a number or bytes."""


def program_of_proto(data: bytes) -> Program:
    """The program in the bytes of a serialized ``HloModuleProto``."""
    fields = list(pairs(data))
    computations = [list(pairs(value)) for number, value in fields if number == MODULE_COMPUTATIONS]
    names = {_number(one, COMPUTATION_ID): _text(one, COMPUTATION_NAME) for one in computations}
    looped = {_number(fields, MODULE_ENTRY)}
    found: list[ScheduledInstruction] = []
    roots = {_number(one, COMPUTATION_ID): _root(one) for one in computations}
    bound = _fingerprint(fields, MODULE_ATTRIBUTES)
    for one in computations:
        for raw in _instructions(one):
            instruction = _instruction(raw, _text(one, COMPUTATION_NAME), roots)
            looped |= set(_packed(raw, CALLED_IDS)) if instruction.opcode == "while" else set()
            bound = bound or _fingerprint(raw, ATTRIBUTES)
            found.append(instruction)
    inside = frozenset(names[number] for number in looped if number in names)
    return _named(Program(_text(fields, MODULE_NAME), bound, tuple(found), inside))


def _instructions(computation: list[Field]) -> Iterator[list[Field]]:
    return (list(pairs(value)) for number, value in computation if number == COMPUTATION_INSTRUCTIONS)


def _instruction(raw: list[Field], computation: str, roots: Mapping[int, str]) -> ScheduledInstruction:
    metadata = next((list(pairs(value)) for number, value in raw if number == METADATA), [])
    opcode = _text(raw, OPCODE)
    inside = (roots.get(number, "") for number in _packed(raw, CALLED_IDS)) if opcode == "async-start" else ()
    return ScheduledInstruction(
        _text(raw, NAME), _text(metadata, SCHEDULING_NAME), opcode, computation, next(iter(inside), "")
    )


def _root(computation: list[Field]) -> str:
    """The name of the instruction whose result is the computation's."""
    wanted = _number(computation, COMPUTATION_ROOT)
    return next((_text(raw, NAME) for raw in _instructions(computation) if _number(raw, INSTRUCTION_ID) == wanted), "")


def _text(fields: list[Field], wanted: int) -> str:
    found = next((value for number, value in fields if number == wanted), b"")
    return found.decode(errors="replace") if isinstance(found, bytes) else ""


def _number(fields: list[Field], wanted: int) -> int:
    found = next((value for number, value in fields if number == wanted), 0)
    return found if isinstance(found, int) else 0


def _packed(fields: list[Field], wanted: int) -> Iterator[int]:
    for value in (value for number, value in fields if number == wanted):
        at = 0
        while isinstance(value, bytes) and at < len(value):
            one, at = varint(value, at)
            yield one
        if isinstance(value, int):
            yield value


def _fingerprint(fields: list[Field], wanted: int) -> str:
    for attributes in (value for number, value in fields if number == wanted and isinstance(value, bytes)):
        for pair in (list(pairs(value)) for _, value in pairs(attributes) if isinstance(value, bytes)):
            if _text(pair, 1) == KEY:
                return _text(pair, 2)
    return ""
