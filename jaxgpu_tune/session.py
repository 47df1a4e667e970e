"""Calls in this process, one after the other: each is planned on top of the others, applied, and can be taken back."""

from __future__ import annotations

import os
from _thread import RLock
from _weakref import ref
from collections.abc import Iterable, Mapping

from .errors import TooLate
from .host import apply as writer
from .host.detect import MACHINE_FILE
from .host.marker import MARKER, follow, is_pinned, marked_environ, read_state
from .host.observe import observe
from .host.packages import installed_versions
from .host.phase import phase
from .machine import Processes
from .model import Finding, Machine, Observation, Report
from .pipeline import plan_here, with_findings
from .planning.merging.assemble import left_alone
from .planning.merging.inherit import read_flags
from .planning.release.target import target_of
from .planning.request import Request, is_off, make_request
from .planning.xla_flags.grammar import FLAGS
from .state import Layer, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .host.late import Late


__all__ = [
    "asked_by",
    "final_environ",
    "for_one_function",
    "foreign",
    "held",
    "is_described",
    "is_typed",
    "layers_with",
    "set_up",
    "take_back",
]

_lock = RLock()
"""A call in a signal handler, which interrupts one of its own thread, is let in: it finds all that was written."""
_claims: dict[int, tuple[int, ref[Report]]] = {}
"""Each call that can be taken back: the number of its layer, and its report. Equal calls, one behind the other, share a layer."""
_made: set[int] = set()
"""The layers of calls of this process."""
TYPED = ("jaxgpu-tune", "%")
_used = [0]


def _after_fork() -> None:
    """A thread that held the lock is not in the child."""
    globals()["_lock"] = RLock()


os.register_at_fork(after_in_child=_after_fork)


def set_up(request: Request, notes: Iterable[Finding] = (), *, announced: bool = True) -> Report:
    """Plan the call on top of the earlier ones, and apply it to this process unless something forbids that.

    ``announced``: warnings and errors go to the logger; else who calls tells them.
    """
    with _lock:
        writer.finish_writing()
        report = _set_up(request, tuple(notes))
    if announced:
        writer.announce(report.findings, report.machine.processes)
    return report


def _set_up(request: Request, notes: tuple[Finding, ...]) -> Report:
    while True:
        seen = dict(os.environ)
        observation = observe(seen, request.machine, visible=request.visible)
        report = with_findings(plan_here(request, observation), notes)
        why_not = (*foreign(observation.machine, request), *held(seen, report))
        if why_not or is_off(seen):
            return with_findings(report, why_not)
        if os.environ.get(MARKER) == seen.get(MARKER):  # else a signal handler's call came between
            return _apply(request, observation, report, seen)


def _apply(request: Request, observation: Observation, report: Report, seen: Mapping[str, str]) -> Report:
    layers = layers_with(request, observation.layers, parents=False)
    final = final_environ(observation, report, layers)
    if observation.machine.phase == "started":
        report = _in_time(request, observation, report, final)
        final = final_environ(observation, report, layers)
    _used[0] = max(_used[0], layers[-1].number) + 1
    report = report._replace(applied=True, call=_used[0])
    _made.add(layers[-1].number)
    _made.intersection_update([layer.number for layer in layers])
    for call in [call for call, (_, one) in _claims.items() if one() is None]:
        del _claims[call]
    _claims[report.call] = layers[-1].number, ref(report)
    writer.put(report, _changes(seen, final))
    return report


def for_one_function(request: Request, observation: Observation) -> Report:
    """The plan for one function: earlier calls' requests count, and are left out of it; their presets have no say."""
    layers = tuple(
        layer._replace(arguments={name: value for name, value in layer.arguments.items() if name != "preset"})
        for layer in observation.layers
    )
    report = plan_here(request, observation._replace(layers=layers))
    return report._replace(decisions=tuple(d for d in report.decisions if d.origin != "request"))


def is_typed(environ: Mapping[str, str]) -> bool:
    """Whether a preset is in force that someone named by hand, at `run`, `env` or the magic."""
    layers = (read_state(environ) or State()).layers
    return any(layer.who.startswith(TYPED) and "preset" in layer.arguments for layer in layers)


def asked_by(who: str) -> bool:
    """Whether something is in force that this caller asked for, in this process or in one that started it."""
    state = read_state(os.environ) or State()
    changed = bool(state.variables) or (state.flags is not None and state.flags.parts is not None)
    return changed and any(layer.who == who for layer in state.layers)


def layers_with(request: Request, former: tuple[Layer, ...], *, parents: bool = True) -> tuple[Layer, ...]:
    """The earlier calls and this one; one that says again what the last has said adds nothing.

    ``parents``: the last may be one that another process has made, which a call that can be taken back must not be part of.
    """
    arguments = request.lasting
    again = former and (former[-1].who, former[-1].arguments) == (request.who, arguments)
    if again and (parents or former[-1].number in _made):
        return former
    number = max([_used[0], *(layer.number for layer in former)]) + 1
    return (*_without_repeats(former), Layer(number, request.who, arguments))


def _without_repeats(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Without those that a later one says again, where no report is left by which either could be taken back."""
    claimed = {number for number, report in _claims.values() if report() is not None}
    free = [layer for layer in layers if layer.number not in claimed]
    last = {(layer.who, repr(layer.arguments)): layer.number for layer in free}
    return tuple(layer for layer in layers if layer.number in {*claimed, *last.values()})


def final_environ(observation: Observation, report: Report, layers: tuple[Layer, ...]) -> dict[str, str]:
    """The whole environment that a plan leads to, with the marker that tells of it."""
    read: tuple[str, ...] = ()
    if observation.environ.get(FLAGS):
        read = tuple(flag.text for flag in read_flags(observation, target_of(observation.machine)).flags)
    state = State(layers, edits=observation.edits)
    asked = _asked(layers, observation.environ)
    alone = left_alone(observation.unread, report.decisions)
    unread = {name: pair for name, pair in observation.unread.items() if name in alone}
    return marked_environ(observation.environ, report.environ, state, read, asked, unread)


def _asked(layers: tuple[Layer, ...], environ: Mapping[str, str]) -> frozenset[str]:
    """The variables that calls ask for; those of the memory's share where the user has set them."""
    if all(layer.arguments.keys() <= {"preset"} for layer in layers):
        return frozenset()
    from .planning.layers import variables_asked

    return variables_asked(layers, environ)


def _changes(now: Mapping[str, str], final: Mapping[str, str]) -> dict[str, str | None]:
    gone = {name: None for name in now if name not in final}
    return {**gone, **{name: value for name, value in final.items() if now.get(name) != value}}


def _in_time(request: Request, observation: Observation, report: Report, final: Mapping[str, str]) -> Report:
    """The plan without what comes too late; raises TooLate, or starts the program again, as the call says."""
    from .host.late import late_finding, or_else, too_late, without

    late = too_late(report, final, None, {}, named=False)
    if late.names and observation.layers:
        former = plan_here(make_request(), observation)
        late = too_late(
            report, final, former, final_environ(observation, former, observation.layers), request.preset != "auto"
        )
    if not late.names:
        return report
    cause = _cause(late, observation.layers)
    if late.own and request.late == "raise":
        raise TooLate.of([late_finding(late, cause, or_else())])
    if late.own and request.late == "reexec":
        writer.reexecute(late_finding(late, cause, or_else()), final)
    return without(report, late, cause)


def _cause(late: Late, layers: tuple[Layer, ...]) -> str:
    """Whose the settings are that this call would take back."""
    if not late.undone:
        return ""
    from .planning.layers import earlier

    calls = [f"preset {layer.arguments.get('preset', 'auto')!r}, asked for by {earlier(layer)}" for layer in layers]
    return f" ({'; '.join(calls)})"


def take_back(call: int, processes: Processes) -> None:
    """Take one call's layer out; what is in force follows from the others, and after the last is what the user had."""
    with _lock:
        writer.finish_writing()
        number, _ = _claims.pop(call, (None, None))
        if number is None or number in {other for other, _ in _claims.values()}:
            return
        if phase() != "started":
            _take_out(number)
            return
        from .host.late import read_at_start, restored_late

        release = installed_versions().jax
        before = read_at_start(release)
        _take_out(number)
        told = restored_late(before, read_at_start(release))
    writer.announce(told, processes)


def _take_out(number: int) -> None:
    seen = dict(os.environ)
    followed = follow(seen)
    left = tuple(layer for layer in followed.state.layers if layer.number != number)
    if left == followed.state.layers and left:
        return
    if not left:
        final = marked_environ(followed.environ, {}, State(pinned=followed.state.pinned))
        writer.give_back(_changes(seen, final))
        return
    observation = observe(seen)._replace(layers=left)
    report = plan_here(make_request(), observation)
    writer.put(report._replace(applied=True), _changes(seen, final_environ(observation, report, left)))


def held(environ: Mapping[str, str], report: Report) -> tuple[Finding, ...]:
    """The finding if this process is pinned: a warning where the plan would have changed something."""
    if not is_pinned(environ):
        return ()
    would = any(environ.get(name) != value for name, value in report.environ.items())
    message = "This process is pinned to the settings that it was started with, so nothing is applied."
    hint = "Measurements and `jaxgpu-tune run --pin` start processes so; start it without to have this call count."
    return (Finding("pinned", "warning" if would else "note", message, hint),)


def is_described(request: Request) -> bool:
    """Whether the machine to plan for is said, not looked at."""
    return request.machine is not None or MACHINE_FILE in os.environ


def foreign(machine: Machine, request: Request) -> tuple[Finding, ...]:
    """The error finding if the machine planned for has another jaxlib than the one installed here."""
    if not is_described(request):
        return ()
    here = installed_versions().jaxlib
    if machine.jaxlib == here:
        return ()
    message = f"The plan is for jaxlib {machine.jaxlib}, but {here or 'none'} is installed here, so nothing is applied."
    return (Finding("other-machine", "error", message, "Use plan() or environ() to plan for another machine."),)
