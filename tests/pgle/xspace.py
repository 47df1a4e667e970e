"""A trace with GPUs as JAX's profiler writes it, put together field by field: planes, streams, kernels with their facts, programs.

Field numbers: https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.protobuf import field


class Kernel(NamedTuple):
    """Times in microseconds."""

    name: str
    start: float
    took: float
    facts: Mapping[str, Any]
    stream: int = 13


class Plane:
    """Names and kinds of events are numbered as they come."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: dict[str, int] = {}
        self.kinds: dict[str, int] = {}
        self.kind_facts: dict[str, bytes] = {}
        self.lines: dict[str, list[bytes]] = {}

    def fact(self, name: str, value: Any) -> bytes:
        number = self.facts.setdefault(name, len(self.facts) + 1)
        kind = 4 if isinstance(value, int) else 6 if isinstance(value, bytes) else 5
        return field(1, number) + field(kind, value)

    def event(self, line: str, one: Kernel) -> None:
        number = self.kinds.setdefault(one.name, len(self.kinds) + 1)
        facts = b"".join(field(4, self.fact(name, value)) for name, value in one.facts.items())
        times = field(2, int(1e6 * one.start)) + field(3, int(1e6 * one.took))
        self.lines.setdefault(line, []).append(field(4, field(1, number) + times + facts))

    def program(self, name: str, hlo: bytes) -> None:
        self.kinds[name] = len(self.kinds) + 1
        self.kind_facts[name] = field(5, self.fact("hlo_proto", hlo))

    def bytes(self) -> bytes:
        lines = (field(3, field(2, name) + field(3, 0) + b"".join(events)) for name, events in self.lines.items())
        kinds = (
            field(4, field(1, number) + field(2, field(1, number) + field(2, name) + self.kind_facts.get(name, b"")))
            for name, number in self.kinds.items()
        )
        facts = (
            field(5, field(1, number) + field(2, field(1, number) + field(2, name)))
            for name, number in self.facts.items()
        )
        return field(2, self.name) + b"".join((*lines, *kinds, *facts))


def space(gpus: Sequence[Sequence[Kernel]], programs: Mapping[str, bytes]) -> bytes:
    """One plane a GPU, and one with each program's serialized HloProto."""
    planes = [Plane(f"/device:GPU:{number}") for number in range(len(gpus))]
    for plane, kernels in zip(planes, gpus, strict=True):
        for one in kernels:
            plane.event(f"Stream #{one.stream}(Compute)", one)
    metadata = Plane("/host:metadata")
    for name, hlo in programs.items():
        metadata.program(name, hlo)
    return b"".join(field(1, plane.bytes()) for plane in (*planes, metadata))


def ran(program: str, instruction: str, start: float, took: float, name: str = "kernel", **facts: Any) -> Kernel:
    """A kernel of one instruction; program number 3, as in ``hlo``."""
    return Kernel(name, start, took, {"hlo_op": instruction, "hlo_module": program, "program_id": 3, **facts})


def hlo(name: str, fingerprint: str, scheduled: Mapping[str, str]) -> bytes:
    """A serialized HloProto: a program whose instructions (name after: name before scheduling) are those of its entry."""
    attributes = field(1, field(1, "fingerprint_before_lhs") + field(2, fingerprint))
    shape = field(2, 11) + field(5, b"")
    instructions = [
        field(1, after)
        + field(2, "parameter")
        + field(3, shape)
        + field(9, number)
        + field(35, number + 1)
        + field(7, field(16, before))
        + field(68, attributes)
        for number, (after, before) in enumerate(scheduled.items())
    ]
    count = len(instructions)
    program_shape = b"".join(field(1, shape) + field(3, name) for name in scheduled) + field(2, shape)
    entry = field(1, "main") + field(5, 7) + field(6, count) + field(4, program_shape)
    entry += b"".join(field(2, one) for one in instructions)
    module = field(1, name) + field(2, "main") + field(6, 7) + field(5, 3) + field(3, entry) + field(4, program_shape)
    return field(1, module + field(19, attributes))
