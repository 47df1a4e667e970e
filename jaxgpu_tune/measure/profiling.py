"""A profile of a command: run it with the observer inside, read the traces that it left, put them together."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadSetting
from ..host.marker import MARKER
from ..model import Finding
from ..planning.xla_flags.grammar import FLAGS
from ..values import EMPTY
from ..wording import capital
from .assembly import profile_of
from .doubts import ADD, overwritten
from .profile import HostTimes, Profile, Watched
from .runs import INTERRUPTED, Asked, Limits, RunOutcome, left_behind, run_watched
from .timeline import Timeline, timeline_of
from .trace.reduction import Reduction, dominant_call, reduce_trace
from .trace.trace_file import read_trace
from .watched import DONE, Process, leading

__all__ = ["keep", "profile_command", "profile_outcome", "without_graphs"]

UNHEARD = ": it said nothing"
"""Said where no output was captured, as the program writes to the terminal itself."""
TOO_SHORT = "the program ended before steps could be traced; let it run longer, or measure less before (--seconds 1)"
NO_GRAPHS = "--xla_gpu_enable_command_buffer="


def profile_command(  # noqa: PLR0913 - keyword-only ones
    command: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    asked: Asked,
    limits: Limits,
    names: bool = False,
    environ: Mapping[str, str] = os.environ,
    traced: Callable[[], None] = lambda: None,
) -> tuple[Profile, RunOutcome]:
    """Run ``command`` (with ``names`` twice, the second time without CUDA graphs) and tell where its step goes.

    Advice is that of the program as it is, with CUDA graphs. ``folder`` takes what the runs leave; where processes are on several hosts, all must see it. ``traced`` is called once all is
    seen of a run. A run that is interrupted (Ctrl-C) tells what was seen until then. Raises BadSetting where ``names`` cannot be had.
    """
    bare = without_graphs(environ) if names else None

    def run(name: str, environ: Mapping[str, str]) -> RunOutcome:
        place, seen = Path(folder).absolute() / name, _once(traced)
        more: dict[str, Any] = {"asked": asked, "limits": limits, "capture": False, "seen": seen}
        try:
            return run_watched(command, folder=place, environ=environ, **more)
        except KeyboardInterrupt:
            return left_behind(command, place)

    outcome = run("run", environ)
    plain = profile_outcome(outcome, environ)
    if bare is None or outcome.seconds_a_step is None or outcome.exit_code == INTERRUPTED:
        return plain, outcome
    named = run("named", bare)
    found = profile_outcome(named, bare, unnamed_s=outcome.seconds_a_step)
    first = () if outcome.ok else (f"The first run, with CUDA graphs, did not end well: {outcome.cause}.",)
    advice = plain.advice if plain.gpus else found.advice
    return found._replace(notes=(*first, *found.notes), advice=advice), named


def _once(told: Callable[[], None]) -> Callable[[tuple[Process, ...]], None]:
    """Calls ``told`` when the processes that count are done, and never again."""
    waiting = [told]

    def seen(processes: tuple[Process, ...]) -> None:
        counting = leading(processes)
        if waiting and counting and all(one.state == DONE for one in counting):
            waiting.pop()()

    return seen


def without_graphs(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with XLA's CUDA graphs off. Raises BadSetting where XLA_FLAGS names a file."""
    flags = environ.get("XLA_FLAGS", "")
    if flags.strip() and not flags.lstrip().startswith("-"):
        message = f"XLA_FLAGS names a file ({flags!r}), to which {NO_GRAPHS} cannot be added."
        raise BadSetting.of(
            [Finding("names-need-flags", "error", message, "Set XLA_FLAGS to the file's text for --names.")]
        )
    return {**environ, "XLA_FLAGS": f"{flags} {NO_GRAPHS}".strip()}


def profile_outcome(
    outcome: RunOutcome, given: Mapping[str, str] = EMPTY, *, unnamed_s: float | None = None
) -> Profile:
    """The profile of a run that was ``given`` an environment: of its processes those that ran steps."""
    stepped = [one for one in outcome.processes if one.clock or one.steps or one.trace]
    found = profile_of([_watched(one) for one in stepped], outcome.command, unnamed_s=unnamed_s)
    cause = outcome.cause.removesuffix(UNHEARD)
    ended = (
        "The command was interrupted."
        if outcome.exit_code == INTERRUPTED
        else f"The command did not end well: {cause}."
    )
    told = [outcome.silent, ended if cause else "", _lost_flags(given, stepped)]
    return found._replace(notes=(*filter(None, told), *found.notes))


def _lost_flags(given: Mapping[str, str], processes: Sequence[Process]) -> str:
    """Unless the program calls configure(), which tells itself what it changes."""
    plain = [one for one in processes if one.settings.get(MARKER) == given.get(MARKER)]
    problem = overwritten({FLAGS: given.get(FLAGS, "")}, EMPTY, plain)
    return f"{capital(problem)}. {ADD}" if problem else ""


def _watched(process: Process) -> Watched:
    reduction, timeline = None, Timeline()
    why = process.why_not_traced or ("" if process.trace else TOO_SHORT)
    if process.trace and Path(process.trace).exists():
        try:
            trace = read_trace(process.trace)
        except ValueError as error:
            why = str(error).rstrip(".")
        else:
            reduction = reduce_trace(trace, processes=process.processes or 1)
            timeline = timeline_of(trace, reduction)
    step_s, clock, function = _period(process, reduction)
    device = process.devices[0] if process.devices else {}
    return Watched(
        rank=process.rank,
        processes=process.processes,
        step_s=step_s,
        clock=clock,
        function=function,
        error=process.period.error if process.period else None,
        host=_host(process),
        device=str(device.get("kind") or ""),
        jax=process.jax or "",
        peak_bytes=process.peak_bytes,
        limit_bytes=device.get("limit_bytes"),
        xla_flags=process.settings.get("XLA_FLAGS", ""),
        reduction=reduction,
        why_not_traced=why,
        timeline=timeline,
    )


def _period(process: Process, reduction: Reduction | None) -> tuple[float | None, str, str]:
    """Seconds a step, by which clock, of which function: without the tracer, else by the host's calls under it."""
    if process.period is not None:
        return process.period.seconds, process.clock, process.function
    host = reduction.host if reduction else {}
    name = dominant_call(host)
    paced = host[name][1] if name else None
    return (None, "", process.function) if paced is None else (1e-3 * paced, "trace", name)


def _host(process: Process) -> HostTimes:
    return HostTimes(
        first_step_s=process.first_step_s,
        compiled=len(process.compiled),
        compile_s=process.compile_seconds,
        recompiled=len(process.recompiled),
        recompile_s=sum(one.seconds for one in process.recompiled),
    )


def keep(profile: Profile, outcome: RunOutcome, folder: str | os.PathLike[str]) -> list[Path]:
    """Leave the report (JSON and HTML) in ``folder``, and each process's trace where TensorBoard, XProf and Perfetto look for them."""
    from ..render.profile_html import profile_page

    place = Path(folder)
    traces = place / "plugins" / "profile" / "jaxgpu_tune"
    traces.mkdir(parents=True, exist_ok=True)
    kept = [place / "profile.json", place / "profile.html"]
    kept[0].write_text(json.dumps(profile.to_dict(), indent=1) + "\n", encoding="utf-8")
    kept[1].write_text(profile_page(profile), encoding="utf-8")
    for number, process in enumerate(one for one in outcome.processes if one.trace and Path(one.trace).exists()):
        rank = number if process.rank is None else process.rank
        kept.append(Path(shutil.copy(str(process.trace), traces / f"rank{rank}.xplane.pb")))
    return kept
