"""What is in a profile: against a program, and against another profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Finding
from .cost_profile import CostProfile, communications, is_communication
from .program import Program

__all__ = [
    "CostChange",
    "Match",
    "ProfileDifference",
    "Summary",
    "collectives_missing",
    "match_findings",
    "matched",
    "profile_difference",
    "summary",
]

LITTLE = 0.5
"""Of a program of which less was found than this share, the profile is of something else."""


class Summary(NamedTuple):
    """How many entries, and microseconds of all of them, each counted once (an instruction in a loop runs more often)."""

    entries: int
    computing: int
    computing_us: float
    communicating: int
    communicating_us: float
    fingerprints: tuple[str, ...]
    longest: tuple[tuple[str, float], ...]


class Match(NamedTuple):
    """What of a program a profile knows.

    ``unused``: entries that the program has no instruction for, or is not meant by.
    """

    program: str
    found: tuple[str, ...]
    missing: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the instructions that the scheduler looks up, how many have a cost."""
        whole = len(self.found) + len(self.missing)
        return len(self.found) / whole if whole else 1.0

    @property
    def collectives(self) -> tuple[str, ...]:
        """The collectives without a cost."""
        return communications(self.missing)


class CostChange(NamedTuple):
    """An instruction that both profiles have, in microseconds."""

    name: str
    before: float
    after: float


class ProfileDifference(NamedTuple):
    """Changes: the largest first, by microseconds."""

    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    changes: tuple[CostChange, ...]


def summary(profile: CostProfile, longest: int = 10) -> Summary:
    """The profile in numbers, with so many of its longest entries."""
    costs = profile.by_name
    talking = [us for name, us in costs.items() if is_communication(name)]
    ordered = sorted(costs.items(), key=lambda item: (-item[1], item[0]))
    return Summary(
        len(profile.costs),
        len(costs) - len(talking),
        sum(costs.values()) - sum(talking),
        len(talking),
        sum(talking),
        profile.fingerprints,
        tuple(ordered[:longest]),
    )


def matched(profile: CostProfile, program: Program) -> Match:
    """As XLA does it: an entry of another fingerprint is dropped, others go by the instruction's name."""
    ours = [cost for cost in profile.costs if cost.fingerprint in ("", program.fingerprint)]
    names = {cost.name for cost in ours} | {one.source for one in profile.latencies}
    inside = {one.wrapped: one.scheduled for one in program.instructions if one.wrapped}
    names = {inside.get(name, name) for name in names}
    known = {one.scheduled for one in program.instructions}
    foreign = [cost.full_name for cost in profile.costs if cost not in ours]
    unused = sorted(names - known) + sorted(foreign)
    wanted = program.looked_up
    return Match(program.name, tuple(sorted(wanted & names)), tuple(sorted(wanted - names)), tuple(unused))


def match_findings(match: Match, profile: CostProfile, program: Program) -> Iterator[Finding]:
    """What of it costs speed."""
    others = [one for one in profile.fingerprints if one != program.fingerprint]
    if others:
        message = (
            f"Entries are bound to the fingerprint {others[0]}, the program has {program.fingerprint or 'none'}: "
            "XLA drops them in silence."
        )
        hint = "The fingerprint changes with the flags. `jaxgpu-tune pgle convert FILE --to NEW` takes it off."
        yield Finding("pgle-other-fingerprint", "warning", message, hint)
    if match.share < LITTLE:
        whole = len(match.found) + len(match.missing)
        message = f"The profile knows {len(match.found)} of the {whole} instructions of {match.program} that take time."
        yield Finding(
            "pgle-little-match", "warning", message, "Record it again with this very program and its settings."
        )
    if match.collectives:
        hint = "Convert it with --program: a collective that nothing overlaps has another name after scheduling."
        yield collectives_missing("It", match.collectives, "", hint)


def collectives_missing(profile: str, names: tuple[str, ...], of_what: str, hint: str) -> Finding:
    """That a profile has no cost of these collectives."""
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    message = f"{profile} lacks {len(names)} collectives{of_what}: {listed}. XLA guesses what they take."
    return Finding("pgle-collectives-missing", "warning", message, hint)


def profile_difference(before: CostProfile, after: CostProfile) -> ProfileDifference:
    """By the names that XLA looks up."""
    old, new = before.by_name, after.by_name
    both = [
        CostChange(name, old[name], new[name]) for name in sorted(old.keys() & new.keys()) if old[name] != new[name]
    ]
    changes = sorted(both, key=lambda one: -abs(one.after - one.before))
    return ProfileDifference(
        tuple(sorted(old.keys() - new.keys())), tuple(sorted(new.keys() - old.keys())), tuple(changes)
    )
