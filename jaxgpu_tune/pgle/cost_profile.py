"""A profile as XLA's scheduler takes it: what each instruction costs; and several of them merged.

XLA's message is ``ProfiledInstructionsProto``:
https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/profiled_instructions.proto
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..measure.trace.hlo import COLLECTIVES

__all__ = ["Cost", "CostProfile", "Latency", "communications", "is_communication", "merged", "xla_percentile"]

SEPARATOR = "::"


class Cost(NamedTuple):
    """What one instruction takes, in microseconds.

    ``name``: the instruction's when the program is scheduled. ``fingerprint``: of the program it holds for, before
    scheduling; empty: of any program that has such an instruction.
    """

    name: str
    us: float
    fingerprint: str = ""

    @property
    def full_name(self) -> str:
        """The name as the file has it."""
        return f"{self.fingerprint}{SEPARATOR}{self.name}" if self.fingerprint else self.name

    @classmethod
    def named(cls, full_name: str, us: float) -> Cost:
        """Of a file's name, which may begin with a fingerprint."""
        first, separator, rest = full_name.partition(SEPARATOR)
        return cls(rest, us, first) if separator else cls(full_name, us)


class Latency(NamedTuple):
    """What passes between the start of one instruction and of another that waits for it, in microseconds."""

    source: str
    target: str
    us: float


class CostProfile(NamedTuple):
    """What a program's instructions cost. Equal if all entries are, in order."""

    costs: tuple[Cost, ...] = ()
    latencies: tuple[Latency, ...] = ()

    @property
    def by_name(self) -> dict[str, float]:
        """Microseconds by the name that XLA looks up.

        Of an instruction named twice the last entry counts, as in XLA.
        """
        return {cost.name: cost.us for cost in self.costs}

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Of the programs that entries are bound to."""
        return tuple(sorted({cost.fingerprint for cost in self.costs if cost.fingerprint}))

    @property
    def digest(self) -> str:
        """The same for the same entries in whatever order and form: what a cache can be keyed by."""
        lines = sorted(repr(tuple(entry)) for entry in (*self.costs, *self.latencies))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def sorted(self) -> CostProfile:
        """By name, so that two files of one content are one text."""
        return CostProfile(tuple(sorted(self.costs)), tuple(sorted(self.latencies)))

    def faults(self) -> tuple[str, ...]:
        """What no measurement can have given: no name, a cost below zero or that is no number; one sentence each."""
        nameless = sum(not cost.name for cost in self.costs)
        strange = [c.full_name for c in self.costs if not (math.isfinite(c.us) and c.us >= 0)]
        strange += [f"{entry.source} to {entry.target}" for entry in self.latencies if not entry.us >= 0]
        told = [f"{nameless} entries have no name"] if nameless else []
        return (*told, *(f"{name!r} has a cost that is not a time" for name in strange))


def is_communication(name: str) -> bool:
    """Whether an instruction of this name, or one that wraps it, is a collective or its start."""
    return name.startswith(COLLECTIVES)


def communications(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that are of instructions that communicate."""
    return tuple(filter(is_communication, names))


def xla_percentile(values: Sequence[float], percent: float) -> float:
    """The value of that rank, rounded down, as XLA takes it of several profiles.

    The 90th percentile of three values is the middle one.
    """
    ordered = sorted(values)
    return ordered[int(percent / 100 * (len(ordered) - 1))]


def merged(profiles: Iterable[CostProfile], percent: float = 50) -> CostProfile:
    """One profile of several runs: each entry's percentile over the runs that have it.

    The same as XLA's own ``aggregate_profiled_instructions``, which forgets latencies.
    """
    costs: dict[tuple[str, str], list[float]] = {}
    latencies: dict[tuple[str, str], list[float]] = {}
    for profile in profiles:
        for cost in profile.costs:
            costs.setdefault((cost.name, cost.fingerprint), []).append(cost.us)
        for latency in profile.latencies:
            latencies.setdefault((latency.source, latency.target), []).append(latency.us)
    return CostProfile(
        tuple(Cost(name, xla_percentile(times, percent), bound) for (name, bound), times in costs.items()),
        tuple(Latency(*pair, xla_percentile(times, percent)) for pair, times in latencies.items()),
    ).sorted()
