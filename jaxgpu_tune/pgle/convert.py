"""From what other tools wrote to the profile that XLA reads.

Traces, exports and profiles, of several ranks and runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from ..errors import BadSetting
from ..measure.trace.trace_file import ENDINGS
from ..model import Finding
from .cost_profile import CostProfile, merged
from .inspection import Match, match_findings, matched
from .nsys import is_export, read_export
from .profile_files import any_form, bad_profile
from .program import Program
from .samples import Sample, by_module, costs_of_samples, main_module
from .xplane import Seen, is_trace, read_xplane

__all__ = ["Converted", "convert", "of_one_run"]

PATTERNS = (*(f"*{ending}" for ending in ENDINGS), "*.sqlite")


class Converted(NamedTuple):
    """A profile and what is known of it.

    ``module``: of which program it is (empty: unknown); ``match``: what of the program it has (None: unknown).
    """

    profile: CostProfile
    module: str
    runs: int
    match: Match | None
    findings: tuple[Finding, ...] = ()


def convert(
    sources: Sequence[str | Path], percent: float = 50, module: str | None = None, program: Program | None = None
) -> Converted:
    """One profile of all ``sources``: files or folders of traces and exports, and profiles.

    Files of one folder are the ranks of one run; several folders, or several profiles, are several runs, of which
    each cost's ``percent`` is taken. ``module``: the program (default: the one that takes most time); ``program``:
    its HLO, where the trace holds none. Raises BadSetting that names each source which cannot serve.
    """
    if not 0 <= percent <= 100:
        raise bad_profile(f"The percentile {percent} is not from 0 to 100.")
    return converted(*_read(sources), percent, module, program)


def of_one_run(traces: Sequence[str | Path], percent: float = 50, module: str | None = None) -> Converted:
    """The profile of the traces of one run's processes, wherever each lies.

    Raises BadSetting for a trace that cannot serve.
    """
    run = reduce(Seen.with_more, map(read_xplane, map(Path, traces)), Seen())
    return converted([], [run], percent, module, None)


def converted(
    profiles: Sequence[CostProfile], runs: Sequence[Seen], percent: float, module: str | None, program: Program | None
) -> Converted:
    """One profile of what was read."""
    name = module or (program.name if program else "") or _main(runs)
    known = program or next((run.programs[name] for run in runs if name in run.programs), None)
    parts = [costs_of_samples(_of_module(run, name), percent, known) for run in runs]
    parts += [_of_program(profile, known) for profile in profiles]
    whole = merged(parts, percent) if len(parts) > 1 else parts[0]
    match = matched(whole, known) if known else None
    return Converted(whole, name, len(profiles) + len(runs), match, tuple(_findings(whole, name, known, match, runs)))


def _of_program(profile: CostProfile, known: Program | None) -> CostProfile:
    """A profile's entries for one program, by the names that the scheduler looks up, bound to no fingerprint."""
    bound = profile.fingerprints
    if known and known.fingerprint in bound:
        bound = (known.fingerprint,)
    if len(bound) > 1:
        message = (
            f"The profile is of {len(bound)} programs: {', '.join(bound)}. Without fingerprints their names would mix."
        )
        raise bad_profile(message, "Give the HLO of the one that you mean with --program.")
    ours = [cost for cost in profile.costs if cost.fingerprint in ("", *bound)]
    names = known.scheduled_names if known else {}
    costs = tuple(cost._replace(fingerprint="", name=names.get(cost.name, cost.name)) for cost in ours)
    return profile._replace(costs=costs).sorted()


def _read(sources: Sequence[str | Path]) -> tuple[list[CostProfile], list[Seen]]:
    profiles: list[CostProfile] = []
    folders: dict[Path, Seen] = {}
    problems: list[Finding] = []
    for source in map(Path, sources):
        problems += _read_one(source, profiles, folders)
    if problems:
        raise BadSetting.of(problems)
    if not profiles and not folders:
        raise bad_profile("There is nothing to convert.", "Give traces, exports or profiles.")
    return profiles, list(folders.values())


def _read_one(source: Path, profiles: list[CostProfile], folders: dict[Path, Seen]) -> tuple[Finding, ...]:
    """What is wrong with it."""
    try:
        for file in _files(source):
            _add(file, profiles, folders)
    except BadSetting as wrong:
        return wrong.findings
    return ()


def _add(file: Path, profiles: list[CostProfile], folders: dict[Path, Seen]) -> None:
    if not (is_trace(file) or is_export(file)):
        profiles.append(any_form(file))
        return
    seen = read_xplane(file) if is_trace(file) else Seen(tuple(read_export(file)))
    folders[file.parent] = folders.get(file.parent, Seen()).with_more(seen)


def _files(source: Path) -> Iterator[Path]:
    """The file itself, or what a folder holds."""
    if source.suffix in (".nsys-rep", ".qdrep"):
        hint = f"Write `nsys export --type sqlite {source}`, and give it {source.with_suffix('.sqlite').name}."
        raise bad_profile(f"{source} is a report in Nsight Systems' own form, which only nsys reads.", hint)
    if not source.is_dir():
        if not source.is_file():
            raise bad_profile(f"{source}: no such file or folder.")
        yield source
        return
    found = sorted(path for pattern in PATTERNS for path in source.rglob(pattern))
    if not found:
        raise bad_profile(f"{source} holds no *.xplane.pb and no *.sqlite.")
    yield from found


def _main(runs: Iterable[Seen]) -> str:
    return main_module(sample for run in runs for sample in run.samples)


def _of_module(run: Seen, name: str) -> list[Sample]:
    found = by_module(run.samples)
    if name in found:
        return found[name]
    listed = ", ".join(list(found)[:8])
    raise bad_profile(f"No kernel of the program {name!r} was seen.", f"Seen were, the longest first: {listed}.")


def _findings(
    whole: CostProfile, name: str, known: Program | None, match: Match | None, runs: Sequence[Seen]
) -> Iterator[Finding]:
    graphs = sorted(cost.name for cost in whole.costs if cost.name.startswith("command_buffer"))
    if graphs:
        message = f"Kernels ran inside {len(graphs)} CUDA graphs ({graphs[0]}, …), which hide whose they were."
        hint = "Take the trace with command buffers off: --xla_gpu_enable_command_buffer= (`pgle record --to` does)."
        yield Finding("pgle-command-buffers", "warning", message, hint)
    if known and match:
        yield from match_findings(match, whole, known)
    if runs and not known:
        whose = f"The names of {name or 'the program'}'s instructions"
        message = f"{whose} are those after scheduling: nothing tells what they were before."
        hint = "Give the program's HLO with --program: collectives that nothing overlaps change their names."
        yield Finding("pgle-no-program", "warning", message, hint)
