"""What of a compiled program the scheduler looks up in a profile, from its HLO text or from the copy that a trace holds.

An instruction's name changes after scheduling (``all-gather-start.1`` that nothing overlaps becomes
``all-gather.4``); XLA keeps the name that the scheduler looks up as ``scheduling_name``, and a trace knows an
instruction by the later one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..measure.trace import hlo
from ..proof.wire import Message
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


# Field numbers beyond those that ``hlo`` has, of xla/service/hlo.proto and xla/xla_data.proto, read off the descriptors in jaxlib's binary.
MODULE_ENTRY, MODULE_ATTRIBUTES = 6, 19
COMPUTATION_NAME, COMPUTATION_ROOT = 1, 6
ATTRIBUTES, SCHEDULING_NAME = 68, 16
PAIRS, KEY, VALUE = 1, 1, 2
BOUND = "fingerprint_before_lhs"


def program_of_proto(data: bytes) -> Program:
    """The program in the bytes of a serialized ``HloModuleProto``."""
    module = Message(data)
    computations = {one.number(hlo.COMPUTATION_ID): one for one in module.messages(hlo.COMPUTATIONS)}
    inside = {number: one.messages(hlo.COMPUTATION_INSTRUCTIONS) for number, one in computations.items()}
    roots = {number: _root(one, inside[number]) for number, one in computations.items()}
    looped = {module.number(MODULE_ENTRY)}
    bound = _fingerprint(module, MODULE_ATTRIBUTES)
    found: list[ScheduledInstruction] = []
    for number, one in computations.items():
        for stored in inside[number]:
            instruction = _instruction(stored, one.text(COMPUTATION_NAME), roots)
            looped |= set(stored.numbers(hlo.CALLED)) if instruction.opcode == "while" else set()
            bound = bound or _fingerprint(stored, ATTRIBUTES)
            found.append(instruction)
    names = frozenset(computations[number].text(COMPUTATION_NAME) for number in looped if number in computations)
    return _named(Program(module.text(hlo.MODULE_NAME), bound, tuple(found), names))


def _instruction(stored: Message, computation: str, roots: Mapping[int, str]) -> ScheduledInstruction:
    opcode, scheduled = stored.text(hlo.OPCODE), stored.message(hlo.METADATA).text(SCHEDULING_NAME)
    called = stored.numbers(hlo.CALLED) if opcode == "async-start" else ()
    wrapped = next((roots.get(number, "") for number in called), "")
    return ScheduledInstruction(stored.text(hlo.NAME), scheduled, opcode, computation, wrapped)


def _root(computation: Message, instructions: list[Message]) -> str:
    """The name of the instruction whose result is the computation's."""
    wanted = computation.number(COMPUTATION_ROOT)
    return next((one.text(hlo.NAME) for one in instructions if one.number(hlo.ID) == wanted), "")


def _fingerprint(message: Message, attributes: int) -> str:
    pairs = message.message(attributes).messages(PAIRS)
    return next((pair.text(VALUE) for pair in pairs if pair.text(KEY) == BOUND), "")
