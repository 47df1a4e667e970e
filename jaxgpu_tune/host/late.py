"""What comes too late once JAX's backend has started: which settings, whose, and what is said of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..knowledge.installs import FAULT
from ..model import Decision, Finding, Report
from ..planning.release.target import option_of
from ..planning.xla_flags.grammar import FLAGS, scan
from ..values import Value
from ..wording import typed_name
from .apply import former_options, in_notebook, why_not_again
from .marker import MARKER, touched
from .phase import MISSING, live_options, process_value, users_of_jax

__all__ = ["STARTED", "Late", "late_finding", "or_else", "read_at_start", "restored_late", "too_late", "without"]

Planned = dict[str, Any]

CHANGED = ("set", "merged", "removed")
STARTED = "JAX's backend has already started; it is read only before"
"""What the reason of each setting begins with that came too late for the backend."""


class Late(Value):
    """``names``: what is planned, is not in force, and cannot come into force here (a flag with its dashes).

    ``own``: those of them that this call asks for, or changes; ``undone``: those that an earlier call has put in force.
    """

    names: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()


def too_late(
    report: Report, final: Mapping[str, str], before: Report | None, before_final: Mapping[str, str], named: bool
) -> Late:
    """What of a plan comes too late. ``before``: the plan without this call; ``named``: this call names a preset."""
    planned, now = _planned(report, final), _planned(None, os.environ)
    behind = [name for name in sorted({*planned, *now, *former_options()}) if _differs(name, planned, now, report)]
    if before is None:
        return Late(tuple(behind), tuple(behind))
    former = _planned(before, before_final)
    asked = {typed_name(d.kind, d.name) for d in report.decisions if d.status in CHANGED and _is_own(d, named)}
    own = tuple(name for name in behind if name in asked or planned.get(name) != former.get(name))
    theirs = {typed_name(d.kind, d.name) for d in before.decisions if d.status in CHANGED}
    undone = tuple(name for name in own if name in theirs and former.get(name) == now.get(name))
    return Late(tuple(behind), own, undone)


def _planned(report: Report | None, environ: Mapping[str, str]) -> Planned:
    """Each setting that only the start of the backend reads: flags, variables that we set, options."""
    found: Planned = {}
    for token in scan(environ.get(FLAGS, "")).tokens:
        found[f"--{token.name}"] = (*found.get(f"--{token.name}", ()), token.text)
    found |= {
        name: text for name, text in environ.items() if not name.startswith("JAX_") and name not in (FLAGS, MARKER)
    }
    return found if report is None else found | dict(report.jax_config)


def _differs(name: str, planned: Planned, now: Planned, report: Report) -> bool:
    """Whether a setting of this library's is not as planned, and nothing will read it again."""
    if name.startswith("--"):
        return planned.get(name) != now.get(name)
    options = {**former_options(), **report.jax_config}
    if name in options:
        frozen = _is_frozen(name, report.machine.jax or report.machine.jaxlib)
        return frozen and options[name] != process_value(live_options(), name)
    return name in {*report.environ, *touched(os.environ)} and planned.get(name) != now.get(name)


def _is_frozen(name: str, release: str | None) -> bool:
    spec = option_of(name, release)
    return spec is not None and spec.moment == "backend"


def _is_own(decision: Decision, named: bool) -> bool:
    return decision.origin == "argument" or (named and decision.origin == "preset")


def late_finding(late: Late, cause: str, otherwise: str = "") -> Finding:
    """What is said: the settings by name, and whose they are where an earlier call put others in force."""
    message = f"JAX's backend has already started, so these can no longer take effect: {', '.join(late.own)}."
    if late.undone:
        message += f" An earlier call has put {', '.join(late.undone)} in force{cause}; this one would take that back."
    users = users_of_jax()
    if users:
        message += f" Loaded packages that use jax, any of which may have started it when imported: {', '.join(users)}."
    where = (
        "Restart the kernel and make this the first cell"
        if in_notebook()
        else "Call configure() before the first use of a device"
    )
    return Finding("too-late", "warning", message, f"{where}{otherwise}.")


def or_else() -> str:
    """What a call that comes too late may ask for instead: the program is offered to be started again where that does no harm."""
    again = "" if why_not_again() else ", or late='reexec' to start the program again with them"
    return f"; or pass late='warn' to apply what still can be{again}"


def read_at_start(release: str | None) -> Planned:
    """What stands now of what only the start of the backend reads: flags, variables, and options by what carries them."""
    now = {name: (was, process_value(live_options(), name)) for name, was in former_options().items()}
    ours = {name: value for name, (was, value) in now.items() if value != was}
    texts = {name.lower(): text for name, text in os.environ.items() if name.startswith("JAX_")}
    options = {name: value for name, value in {**ours, **texts}.items() if _is_frozen(name, release)}
    return _planned(None, os.environ) | options


def restored_late(was: Planned, now: Planned) -> tuple[Finding, ...]:
    """What is said where a call is taken back once the backend has read its settings: one finding, if it had any."""
    names = sorted(name for name in {*was, *now} if was.get(name) != now.get(name))
    if not names:
        return ()
    message = f"JAX's backend has already started with these, so taking them back changes nothing in this process: {', '.join(names)}."
    here = " Here, restart the kernel." if in_notebook() else ""
    return (Finding("restored-late", "warning", message, f"Child processes start without them.{here}"),)


def without(report: Report, late: Late, cause: str) -> Report:
    """The plan without what comes too late, which is marked as such; a fault that it was to avoid is none the less there.

    What an earlier call set in its place is in force, and stays: child processes and ``restore()`` need it.
    """

    def marked_late(decision: Decision) -> Decision:
        hit = typed_name(decision.kind, decision.name) in late.names and decision.status in CHANGED
        return decision._replace(status="late", reason=f"{STARTED} ({decision.reason})") if hit else decision

    decisions = tuple(map(marked_late, report.decisions))
    struck = {d.source.removeprefix(FAULT) for d in decisions if d.status == "late" and d.origin == "fault"}
    findings = (f._replace(severity="error") if f.code in struck else f for f in report.findings)
    kept = {name: os.environ.get(name) for name in _kept(report, late)}
    return report._replace(
        xla_flags=os.environ.get(FLAGS, ""),
        environ={**{n: v for n, v in report.environ.items() if not _is_late(n, late)}, **kept},
        jax_config=_options(report, late),
        decisions=decisions,
        findings=(*findings, *([late_finding(late, cause)] if late.own else [])),
    )


def _kept(report: Report, late: Late) -> set[str]:
    """The variables that stay as they are: those that only the start of the backend reads."""
    ours = {*report.environ, *touched(os.environ)}
    return {name for name in ours if not name.startswith("JAX_") or _is_late(name, late)}


def _is_late(name: str, late: Late) -> bool:
    return name in late.names or name.lower() in late.names


def _options(report: Report, late: Late) -> dict[str, Any]:
    wanted = {name: value for name, value in report.jax_config.items() if name not in late.names}
    ours = {name: process_value(live_options(), name) for name in former_options() if name in late.names}
    return wanted | {name: value for name, value in ours.items() if value is not MISSING}
