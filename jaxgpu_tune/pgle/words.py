"""XLA's own words in a log: whether a profile was read, for which programs it was used, and what it lacked.

The lines are those of XLA's gpu_hlo_schedule.cc and profile_guided_latency_estimator.cc (tried on jaxlib 0.12.0.1
with the GPU compiler). What is missing is a warning, so it is always there; that a profile was found is told at level
INFO only, which JAX hides unless TF_CPP_MIN_LOG_LEVEL=0. Nothing is said of a program of which nothing is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..model import Finding
from .cost_profile import communications
from .inspection import LITTLE, collectives_missing

__all__ = ["Use", "cache_findings", "findings_of", "main_use", "recording_findings", "uses_in"]

HEAD = re.compile(r"^(?P<level>[IWEF])\d{4} [\d:.]+\s+(?P<thread>\d+) (?P<file>[\w./-]+):\d+\] (?P<said>.*)$")
USED = re.compile(r"^Found profile(?: for module (?P<module>.+?))?, using profile guided latency estimator")
FOUND = re.compile(r"^Found (\d+) instructions from the profile")
MISSING = re.compile(r"^Missing (\d+) instructions from the profile")
FAILED = re.compile(
    r"^(Tried but failed to parse PGLE proto.*|PGLE profile file does not exist.*|Unable to parse fdo_profile.*)"
)


class Use(NamedTuple):
    """What XLA said of one program. ``found``: instructions with a cost; None: XLA names no number where nothing is missing.

    ``module``: empty where the release does not name it, or its line was hidden.
    """

    module: str
    found: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def measurable(self) -> tuple[str, ...]:
        """What is missing and could have been measured: the end of an asynchronous operation runs nothing."""
        return tuple(name for name in self.missing if not name.partition(".")[0].endswith("-done"))

    @property
    def collectives(self) -> tuple[str, ...]:
        """The collectives that are missing: without them the scheduler guesses at what it is to hide."""
        return communications(self.missing)


class _Reading:
    """What one thread of XLA has said so far."""

    def __init__(self) -> None:
        self.module = ""
        self.left = 0


def uses_in(lines: Iterable[str]) -> tuple[tuple[Use, ...], tuple[str, ...]]:
    """(what was said of each program that the profile was used for, why a profile could not be read)."""
    uses: list[Use] = []
    failed: dict[str, None] = {}
    threads: dict[str, _Reading] = {}
    for head in filter(None, map(HEAD.match, lines)):
        thread, said = threads.setdefault(head["thread"], _Reading()), head["said"]
        if used := USED.match(said):
            thread.module = used["module"] or ""
            uses.append(Use(thread.module))
        elif number := FOUND.match(said):
            _replace_last(uses, thread.module, found=int(number[1]))
        elif number := MISSING.match(said):
            thread.left = int(number[1])
        elif thread.left and said.startswith("  "):
            thread.left -= 1
            last = uses[-1]
            uses[-1] = last._replace(missing=(*last.missing, said.strip()))
        elif wrong := FAILED.match(said):
            failed[wrong[1]] = None
    return tuple(uses), tuple(failed)


def _replace_last(uses: list[Use], module: str, found: int) -> None:
    """The numbers belong to the program that was named last, if any was."""
    if uses and uses[-1].module == module and uses[-1].found is None:
        uses[-1] = uses[-1]._replace(found=found)
    else:
        uses.append(Use(module, found))


def main_use(uses: Iterable[Use]) -> Use | None:
    """Of the largest program: that with most instructions, or the one that a jitted function was compiled to last."""
    known = [use for use in uses if use.found is not None]
    if known:
        return max(known, key=lambda use: (use.found or 0) + len(use.missing))
    whole = [use for use in uses if use.module.startswith(("jit_", "pmap_", "pjit_"))]
    return whole[-1] if whole else None


def findings_of(lines: Iterable[str]) -> tuple[Finding, ...]:
    """Whether the profile was used, and how much of it: what proves it, and what speaks against it."""
    uses, failed = uses_in(lines)
    told = tuple(Finding("pgle-unreadable", "error", f"XLA went without the profile: {why}.") for why in failed)
    use = main_use(uses)
    if use is None:
        return told or (_not_seen(),)
    return (*told, *_matched(use))


def _matched(use: Use) -> Iterable[Finding]:
    name = use.module or "the program"
    if use.found is None:
        yield Finding(
            "pgle-used", "note", f"XLA scheduled {name} by the profile, which lacks none of its instructions."
        )
        return
    lacking, whole = len(use.measurable), use.found + len(use.measurable)
    message = f"XLA found {use.found} costs of {name} in the profile; {lacking} instructions have none."
    remake = "Record it again with the very program, jaxlib and settings that it is used with."
    if use.found < LITTLE * whole:
        yield Finding("pgle-little-match", "warning", f"{message} It is the profile of another program.", remake)
    else:
        yield Finding("pgle-used", "note", message)
    if use.collectives:
        hint = "A profile taken by other tools names them as they are after scheduling: `jaxgpu-tune pgle convert --program`."
        yield collectives_missing("The profile", use.collectives, f" of {name}", hint)


EMPTY = "PGLE collected an empty trace"
MISS = re.compile(r"PERSISTENT CACHE MISS for PGLE-optimized ([\w.<>-]+)")
WRITE = re.compile(r"PERSISTENT CACHE WRITE with key ([^,\s]+)")
LOADED = re.compile(r"PGLE-optimized (\S+) loaded from compilation cache")


def recording_findings(lines: Iterable[str]) -> tuple[Finding, ...]:
    """Whether JAX's own profiling (AutoPGLE) saw anything and compiled again by it."""
    said = list(lines)
    if any(EMPTY in line for line in said):
        message = (
            "JAX profiled the program, but its trace was empty: nothing ran on a GPU, or another tool holds CUPTI."
        )
        hint = "CUPTI serves one tool at a time: no Nsight Systems, no DCGM profiling, no JAX profiler in the program."
        return (Finding("pgle-empty-trace", "error", message, hint),)
    return findings_of(said)


def cache_findings(lines: Iterable[str]) -> tuple[Finding, ...]:
    """Which optimized executables JAX loaded from the cache, and which it did not find, by its own words."""
    said = list(lines)
    loaded, missed, made = (_named(pattern, said) for pattern in (LOADED, MISS, WRITE))
    found = [Finding("pgle-used", "note", f"Loaded optimized: {', '.join(loaded)}.")] if loaded else []
    if missed:
        message = f"No optimized executable was kept of {', '.join(missed)}: it was not run often enough when it was recorded."
        found.append(
            Finding("pgle-miss", "warning", message, "JAX profiles three runs of a function, then compiles it again.")
        )
    if made:
        message = (
            f"Compiled anew, as the cache has not this key: {', '.join(made)}. The program or its shapes have changed."
        )
        found.append(Finding("pgle-miss", "warning", message, "Record again what is run now."))
    if not loaded:
        message = "JAX loaded no optimized executable."
        hint = "The key holds the program with its shapes, XLA_FLAGS, the versions and the GPUs: record with the very same."
        found.append(Finding("pgle-not-used", "warning", message, hint))
    return tuple(found)


def _named(pattern: re.Pattern[str], lines: Iterable[str]) -> list[str]:
    return sorted({found[1] for line in lines if (found := pattern.search(line))})


def _not_seen() -> Finding:
    message = "XLA did not say that it used the profile."
    hint = (
        "Nothing may have been compiled: programs from a compilation cache are not scheduled again. "
        "Or the program's stderr went elsewhere."
    )
    return Finding("pgle-not-used", "warning", message, hint)
