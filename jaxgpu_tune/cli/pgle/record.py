"""``jaxgpu-tune pgle record [--to FILE] -- COMMAND…``."""

from __future__ import annotations

import sys
import tempfile

from ...errors import BadSetting
from ...model import Finding
from ...planning.settings.setting_names import PGLE_OPTION
from ..measuring import check_output
from ..output import FOUND, INTERRUPTED, say, tell
from ..parameters import COMMAND, JSON, Option
from .convert import PERCENTILE
from .shared import CACHE, PLANNED, plan_of, refuse, root_of, setup_of, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from ...measure.runs import RunOutcome
    from ...pgle.convert import Converted
    from ...pgle.sidecar import Sidecar


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Option("target", "--to", "text", "Write a profile there: .pbtxt (text) or .pb (binary).", "FILE"),
    *PLANNED,
    Option("steps", "--steps", "number", "With --to: trace so many steps.", "N", default=5),
    Option("module", "--module", "text", "With --to: of this program (default: the longest).", "NAME"),
    PERCENTILE,
    Option("traces", "--traces", "text", "With --to: keep the traces and the observer's reports there.", "FOLDER"),
    CACHE,
    JSON,
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune pgle record --to model.pb --preset fsdp -- python train.py", "a profile for XLA, in a file"),
    ("jaxgpu-tune pgle record --preset fsdp -- python train.py", "JAX's own: optimized executables in a cache"),
)


def command(target: str | None, program: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Run COMMAND, unchanged, and keep what its instructions took.

    With --to the program runs with nothing overlapped until it is in a steady state; then some steps are traced and
    it is ended. Without, JAX itself profiles the first runs of each function and compiles again (AutoPGLE); the
    program runs to its end, and the optimized executables stay in a compilation cache of this recording, for `pgle
    use`.
    """
    how = {name: given.pop(name) for name in ("steps", "module", "percentile", "traces")}
    store = given.pop("store")
    if target is None:
        return _to_cache(program, store, as_json, given)
    return _to_file(target, program, how, as_json, given)


def _to_cache(program: tuple[str, ...], store: str | None, as_json: bool, given: dict[str, Any]) -> int:
    from ...pgle.recording import obstacles, refusals, without_gpu
    from ...pgle.relay import run_heard
    from ...pgle.store import finish_recording, new_folder
    from ...pgle.words import recording_findings

    plain, base = plan_of(given)
    folder = new_folder(root_of(store))
    report, environ = plan_of(given, pgle="auto", compilation_cache=folder)
    found = (*refusals(report, PGLE_OPTION), *without_gpu(report.machine), *obstacles(base), *report.findings)
    refuse(found)
    tell(found)
    heard = run_heard(program, environ)
    said = recording_findings(heard.lines)
    unused = any(one.code == "pgle-not-used" for one in said)
    if heard.code:  # a program that failed is not blamed for what it did not come to
        said = tuple(one for one in said if one.code != "pgle-not-used")
    counts = heard.code == 0 or (heard.interrupted and not unused)
    counts = counts and not any(one.severity == "error" for one in said)
    kept = finish_recording(folder, setup_of(plain, program, digest=folder.name)) if counts else ()
    told((*said, *_kept(kept, heard.code)), as_json=as_json, folder=str(folder), programs=kept)
    return heard.code or (0 if kept else FOUND)


def _kept(kept: tuple[str, ...], code: int) -> Iterator[Finding]:
    if code and kept:
        message = f"It was interrupted; what was recorded until then is kept, of {', '.join(kept)}."
        yield Finding("pgle-interrupted", "note", message)
    elif code:
        message = f"The command ended with exit code {code}, so nothing counts as recorded."
        yield Finding("pgle-not-recorded", "error", message)
    elif not kept:
        message = "No executable was kept."
        hint = "The program may be too short: JAX profiles three runs of a function and then compiles it again."
        yield Finding("pgle-not-recorded", "error", message, hint)


def _to_file(target: str, program: tuple[str, ...], how: dict[str, Any], as_json: bool, given: dict[str, Any]) -> int:
    from ...pgle.profile_files import checked_target
    from ...pgle.recording import RECORDING, obstacles, without_gpu

    file = checked_target(target)
    check_output("--to", target)
    plain, base = plan_of(given)
    report, environ = plan_of(given, flags=RECORDING)
    found = (*without_gpu(report.machine), *obstacles(base), *report.findings)
    refuse(found)
    tell(found)
    with tempfile.TemporaryDirectory(prefix="jaxgpu_tune-pgle-") as passing:
        folder = how["traces"] or passing
        outcome = _traced(program, folder, environ, how["steps"])
        traces = [process.trace for process in outcome.processes if process.trace]
        if not traces:
            tell([_no_trace(outcome)])
            return _ended(outcome)
        try:
            converted = _written(traces, file, how["percentile"], how["module"], setup_of(plain, program))
        except BadSetting as wrong:  # the traces are at fault, not the words of the command line
            tell(wrong.findings)
            return _ended(outcome)
    told(converted.findings, as_json=as_json, written=str(file), module=converted.module)
    say(f"{len(converted.profile.costs)} instructions of {converted.module} -> {file}", sys.stderr)
    return 0


def _written(traces: Sequence[str], file: Path, percentile: float, module: str | None, setup: Sidecar) -> Converted:
    """The profile of one run's traces, with what it was taken with beside it."""
    from ...pgle.convert import of_one_run
    from ...pgle.profile_files import write_profile
    from ...pgle.sidecar import write_sidecar

    found = of_one_run(traces, percentile, module)
    write_profile(found.profile, file)
    digest = found.profile.digest
    write_sidecar(file, setup._replace(digest=digest, program=found.module, percentile=percentile, runs=1))
    return found


def _traced(program: tuple[str, ...], folder: str, environ: dict[str, str], steps: int) -> RunOutcome:
    """The run, or what Ctrl-C left of it."""
    from ...measure.runs import Asked, left_behind, run_watched

    asked = Asked(trace={"steps": steps, "options": {"enable_hlo_proto": True}})
    try:
        return run_watched(program, folder=folder, environ=environ, asked=asked, capture=False)
    except KeyboardInterrupt:
        return left_behind(program, folder)


def _ended(outcome: RunOutcome) -> int:
    return INTERRUPTED if outcome.exit_code == INTERRUPTED else FOUND


def _no_trace(outcome: RunOutcome) -> Finding:
    """Why nothing was recorded."""
    reasons = [process.why_not_traced for process in outcome.processes if process.why_not_traced]
    why = next(
        filter(None, (*reasons, outcome.cause, outcome.silent)), "the program ended before its steps could be traced"
    )
    hint = "See the command's own words above." if outcome.cause else "Let the program run longer."
    return Finding("pgle-not-recorded", "error", f"No trace was taken: {why.rstrip('.')}.", hint)
