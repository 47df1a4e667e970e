"""The first lines of a report: what was done, and what it is known to be worth on such a machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..knowledge.gains import Gain, gains_of
from ..knowledge.presets import load_preset, owner_of
from ..model import Decision, Machine, Report
from ..planning.base.wish import YIELDS
from ..planning.composing import is_path
from ..planning.request import Request, is_off
from ..planning.select import job_devices
from ..wording import counted
from .parts import by_owner, label

__all__ = ["headline", "off", "worth"]

COUNTED = {
    "set": "{} {}set",
    "merged": "{} {}merged with yours",
    "translated": "{} of yours {}translated",
    "dropped": "{} of yours {}dropped",
    "removed": "{} {}removed",
    "late": "{} too late",
}
"""How the headline counts what became of settings, or would have under JAXGPU_TUNE=off, in its order."""
MOST = 3
"""Workloads that are named; the others are told by the preset's page."""


def headline(report: Report) -> str:
    """Such as ``fsdp: applied; 6 settings set, 2 of yours translated``."""
    became: list[str] = [d.status for owned in by_owner(report).values() for d in owned]
    would = "would be " if off(report) else ""
    parts = [words.format(count, would) for status, words in COUNTED.items() if (count := became.count(status))]
    told = [", ".join(parts)] if parts else []
    if not parts or _preset_is_unmet(report):
        told.append(_nothing(report, alone=not parts))
    if kept := sum(finding.code == YIELDS for finding in report.findings):
        told.append(f"{kept} of yours kept, which the preset would set otherwise")
    return f"{report.preset}: {_state(report)}; {'; '.join(told)}."


def worth(report: Report) -> str:
    """What the presets were measured to gain on these GPUs and this jaxlib, or elsewhere; empty where nothing is set by them."""
    done = [d for d in report.decisions if d.status in ("set", "merged") and _is_from_a_preset(d)]
    if not done:
        return ""
    named = [name.strip() for name in report.preset.split("+")]
    stated = dict.fromkeys((*named, *(owner_of(d.source) for d in done)))
    measured = [name for name in stated if gains_of(name) and not _is_unmet(name, report)]
    if not measured:
        files = [f"jaxgpu-tune explain {name}" for name in named if is_path(name)]
        says = f" What its file says of it: {', '.join(files)}." if files else ""
        return f"Nothing of it was measured by this project; compare it on your program: jaxgpu-tune compare none {report.preset} -- COMMAND.{says}"
    more = [decision for decision in done if owner_of(decision.source) not in measured]
    gained = _gained(measured, report.machine, _job(report), alone=" and ".join(measured) if more else "")
    return f"{gained} {_beyond(more, measured, report.preset)}" if more else gained


def _is_unmet(name: str, report: Report) -> bool:
    """Whether no condition of that preset's settings holds here."""
    unmet = {(d.kind, d.name) for d in report.decisions if d.status == "unmet" and owner_of(d.source) == name}
    return all((setting.kind, setting.name) in unmet for setting in load_preset(name).settings)


def _is_from_a_preset(decision: Decision) -> bool:
    """What an argument brings along yields as a preset's setting does, and is none of it."""
    return decision.origin == "preset" and not decision.source.startswith("argument ")


def _job(report: Report) -> int:
    """The GPUs of the whole job; where that is not known, those here."""
    asked = Request(devices=report.inputs.get("arguments", {}).get("devices"))
    return job_devices(report.machine, asked) or len(report.machine.gpus or ())


def _gained(measured: Sequence[str], machine: Machine, job: int, alone: str) -> str:
    """What was measured of presets; ``job``: the GPUs of the whole job; ``alone``: their names, where more than that is set."""
    gains = [gain for name in measured for gain in gains_of(name)]
    here, place = [gain for gain in gains if _is_here(gain, machine, job)], _place(machine, job)
    if here:
        return f"Measured{f', {alone} alone,' if alone else ''} on {place}: {_listed(here)}."
    first = gains[0]
    elsewhere = [
        gain for gain in gains if (gain.gpu, gain.count, gain.jaxlib) == (first.gpu, first.count, first.jaxlib)
    ]
    on = f"On {first.count} x {_short(first.gpu)}, jaxlib {first.jaxlib}{f', {alone} alone' if alone else ''}"
    return f"Not measured on {place}. {on}: {_listed(elsewhere)}."


def _beyond(more: Sequence[Decision], measured: Sequence[str], preset: str) -> str:
    """What is set beside measured presets, or in place of their settings, and how to measure that."""
    theirs = {(s.kind, s.name): name for name in measured for s in load_preset(name).settings}
    named = [f"{label(d)}{_instead(theirs.get((d.kind, d.name)))}" for d in more]
    listed = "; ".join(named[:MOST]) + (f"; {len(named) - MOST} more" if len(named) > MOST else "")
    how = f"jaxgpu-tune compare {'+'.join(measured)} {preset} -- COMMAND"
    return f"Not measured with it: {listed}. Compare both on your program: {how}."


def _instead(preset: str | None) -> str:
    return f" (in place of what {preset} sets)" if preset else ""


def off(report: Report) -> bool:
    """Whether the report tells what would be done: JAXGPU_TUNE was off."""
    return not report.applied and is_off(report.inputs.get("environ", {}))


def _state(report: Report) -> str:
    if report.applied:
        return "applied"
    return "not applied, since JAXGPU_TUNE is off" if off(report) else "planned, not applied"


def _preset_is_unmet(report: Report) -> bool:
    """Whether the preset has settings, and none of their conditions holds here."""
    statuses = {d.status for d in report.decisions if d.origin == "preset"}
    return statuses == {"unmet"}


def _nothing(report: Report, *, alone: bool) -> str:
    """That nothing is set, or, beside what was asked for, that the preset sets nothing; and that there is no GPU."""
    told = "nothing is set" if alone else "the preset sets nothing"
    if report.machine.gpus == () and not report.machine.plugins:
        return f"there is no NVIDIA GPU here, so {told}"
    return told


def _is_here(gain: Gain, machine: Machine, job: int) -> bool:
    """All was measured on one host."""
    gpus = machine.gpus or ()
    return gain.count == job <= len(gpus) and {gpu.name for gpu in gpus} == {gain.gpu} and machine.jaxlib == gain.jaxlib


def _place(machine: Machine, job: int) -> str:
    names = {gpu.name or "an unknown GPU" for gpu in machine.gpus or ()}
    whose = "the job's " if job > len(machine.gpus or ()) else ""
    gpus = f"{whose}{job} x {_short(names.pop())}" if len(names) == 1 else "these GPUs"
    return f"{gpus}, jaxlib {machine.jaxlib or 'unknown'}"


def _listed(gains: Iterable[Gain]) -> str:
    """Each program with the factor, those with a verdict first; that no difference was shown is said, and how many pairs there are where they decide nothing."""
    found = sorted(gains, key=lambda gain: gain.verdict == "undecided")
    told = [f"{gain.workload}{_factor(gain)}" for gain in found[:MOST]]
    return "; ".join(told) + (f"; {len(found) - MOST} more" if len(found) > MOST else "")


def _factor(gain: Gain) -> str:
    if gain.verdict == "no-difference":
        return ": no difference shown"
    few = f" ({counted(gain.pairs, 'pair')})" if gain.verdict == "undecided" else ""
    return f" {gain.speed:.2f} x{few}"


def _short(gpu: str) -> str:
    return gpu.removeprefix("NVIDIA ")
