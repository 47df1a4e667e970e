"""``tune`` over a command: the space of this machine, a search in a folder of its own, and the files that it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import BadSetting
from ...host.observe import observe
from ...knowledge.candidates import Candidate, starts
from ...model import Finding
from ...planning.request import Request
from ...render.tuned import tuned_page
from .drive import Runner, Tell, drive, resumed
from .how import How
from .journal import NAME, Journal, config_json
from .space import Space, space_of
from .trying import CommandRuns
from .tuned import Tuned, search_preset, tuned

__all__ = [
    "Files",
    "SearchWanted",
    "files_of",
    "gpu_missing",
    "how_it_stands",
    "space_here",
    "tune_command",
    "tune_with",
    "write_files",
]


class SearchWanted(NamedTuple):
    """What is to be searched: presets to begin with beside the usual ones, candidates beside the usual ones, kinds of program.

    ``only``: nothing but the user's own candidates and presets.
    """

    presets: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    kinds: tuple[str, ...] = ()
    only: bool = False


class Files(NamedTuple):
    """Where a search keeps things: the preset it writes, and beside it the report, the page and the folder of its runs."""

    preset: Path
    report: Path
    page: Path
    folder: Path

    @property
    def journal(self) -> Path:
        """Every finished trial."""
        return self.folder / NAME


def files_of(out: str | os.PathLike[str]) -> Files:
    """The files that belong to a preset file of that name. Raises BadSetting where that is a folder."""
    preset = Path(out)
    if preset.is_dir():
        message = f"The preset cannot be written to {str(preset)!r}: it is a folder."
        raise BadSetting.of([Finding("bad-out", "error", message, f"Give a file, such as {preset / 'tuned.toml'}.")])
    return Files(preset, preset.with_suffix(".json"), preset.with_suffix(".html"), preset.with_suffix(".runs"))


def space_here(
    request: Request, wanted: SearchWanted, environ: Mapping[str, str], clean: Mapping[str, str] | None = None
) -> Space:
    """What can be tried in a fresh process of that environment; ``clean``: the same without what is inherited."""
    observation = observe(environ, request.machine, live=False, visible=request.visible)
    presets = [*wanted.presets, *(() if wanted.only else starts())]
    space = space_of(request, observation, presets, clean, wanted.candidates, wanted.kinds)
    if not wanted.only:
        return space
    own = {one.name for one in wanted.candidates} | {one.name for one in space.starts}
    return space._replace(
        moves=tuple(one for one in space.moves if space.name(one.config) in own),
        left_out=tuple(one for one in space.left_out if one.name in own),
    )


def tune_command(
    space: Space,
    how: How,
    files: Files,
    budget: float,
    tell: Tell = lambda _search, _left: None,
) -> Tuned:
    """Search with the command in processes of its own. ``budget``: seconds, earlier starts included.

    Raises JaxGpuTuneError where the program fails as it is, BadSetting where the folder holds another search. Interrupted, it has
    kept every finished trial.
    """
    return tune_with(space, CommandRuns(space, how), files, about(space, how), (budget, how.timeout), tell)


def tune_with(
    space: Space,
    run: Runner,
    files: Files,
    told: Mapping[str, Any],
    limits: tuple[float, float | None],
    tell: Tell = lambda _search, _left: None,
) -> Tuned:
    """Search by any runner. ``limits``: the budget and the timeout of one run, in seconds."""
    journal = Journal(files.journal, told)
    budget, timeout = limits
    search = drive(space, run, journal, budget, tell, timeout)
    findings = [*gpu_missing(space), *space.mended, *run.findings, *journal.earlier]
    return tuned(search, space, str(files.preset), told, findings)


def gpu_missing(space: Space) -> tuple[Finding, ...]:
    """Why next to nothing can be tried."""
    message = "There is no NVIDIA GPU here. Most settings act on GPUs only, so they were not tried."
    return (Finding("no-gpu", "note", message),) if space.observation.machine.gpus == () else ()


def how_it_stands(space: Space, how: How, files: Files) -> Tuned:
    """The answer by what is in the journal of a search that was interrupted."""
    told = about(space, how)
    search = resumed(space, CommandRuns(space, how), Journal(files.journal, told))
    return tuned(search, space, str(files.preset), told, [*gpu_missing(space), *space.mended], interrupted=True)


def about(space: Space, how: How) -> dict[str, Any]:
    """What tells one search from another: the command, what is tried, how it is judged, on what."""
    machine = space.observation.machine
    tried = (*(one.config for one in space.starts), *(one.config for one in space.moves))
    judged: Sequence[str] = ("seconds", "clock", "whole", "metric", "higher_is_better", "numbers", "tolerance")
    return {
        "command": list(how.command),
        **{name: getattr(how, name) for name in judged},
        "tried": list(map(config_json, tried)),
        "jaxlib": machine.jaxlib,
        "gpus_seen": [gpu.name for gpu in machine.gpus or ()],
    }


def write_files(found: Tuned, files: Files) -> None:
    """The report, the page, and the preset where one was proved."""
    _whole(files.report, json.dumps(found.report, indent=1) + "\n")
    _whole(files.page, tuned_page(found.report))
    if found.path:
        _whole(files.preset, search_preset(found.report))


def _whole(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
