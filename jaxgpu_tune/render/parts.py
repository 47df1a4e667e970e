"""What every form of a report shares: the order, the grouping and the wording of its parts."""

from __future__ import annotations

from ..model import Decision, Gpu, Machine, Report
from ..wording import size_text, typed_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..proof.verification import Verified


__all__ = [
    "IN_FORCE",
    "became",
    "by_owner",
    "change",
    "decisions_in_force",
    "grouped",
    "label",
    "machine_facts",
    "machine_line",
]

IN_FORCE = frozenset({"set", "kept", "merged", "translated", "removed"})
"""Statuses of decisions that changed or keep something; the others say why nothing was done."""

CHANGED = frozenset({"removed", "translated", "dropped", "late"})
"""Statuses of what was set already, or asked for, and does not stay as it was."""


def label(setting: Decision | Verified) -> str:
    """A setting as one types it: a flag with its dashes, a variable or an option by its name."""
    return typed_name(setting.kind, setting.name)


def decisions_in_force(report: Report) -> list[Decision]:
    """The decisions that take effect, and those that were asked for or inherited and cannot."""
    return [d for d in report.decisions if d.status in IN_FORCE or d.status in ("dropped", "late")]


def by_owner(report: Report, *, would: bool = False) -> dict[str, list[Decision]]:
    """What changes, by who wants it: preset, call, a package's fault; and what was set already and does not stay as it was.

    What a preset would set in another release's words is no change here. ``would``: nothing of it was done.
    """
    groups: dict[str, list[Decision]] = {}
    for decision in report.decisions:
        if decision.status in ("set", "merged") or (decision.status in CHANGED and not _is_presets(decision)):
            groups.setdefault(_owner(decision, would=would), []).append(decision)
    return groups


def _is_presets(decision: Decision) -> bool:
    return decision.origin == "preset"


def _owner(decision: Decision, *, would: bool) -> str:
    done = "Would be set" if would else "Set"
    if _is_presets(decision):
        return f"{done} by {decision.source}:"
    if decision.origin == "fault":
        return f"{done} against a fault of an installed package ({decision.source.removeprefix('fault ')}):"
    return f"Asked for ({decision.source}):" if decision.origin == "argument" else "Of what was set already:"


def change(decision: Decision, *, would: bool = False) -> str:
    """One change as one types it: ``--xla_flag=value``, or the name and what became of it, or ``would`` have."""
    name, value = label(decision), decision.value
    if decision.status == "set" or (decision.status == "merged" and value is not None):
        return f"{name}={value}"
    if decision.status == "translated":
        gone = "would be taken out" if would else "taken out"
        return (
            f"{name}: {'would be' if would else 'now'} {value}"
            if value
            else f"{name}: {gone}, nothing replaces it here"
        )
    return f"{name}: {became(decision, would=would)}" + (f" ({value})" if value else "")


def became(decision: Decision, *, would: bool) -> str:
    """What became of a setting, or ``would`` have."""
    acted = decision.status in CHANGED - {"late"} or decision.status in ("set", "merged")
    return f"would be {decision.status}" if would and acted else decision.status


def grouped(report: Report) -> dict[str, list[Decision]]:
    """The other decisions, by status: nothing is emitted for them."""
    shown = decisions_in_force(report)
    groups: dict[str, list[Decision]] = {}
    for decision in report.decisions:
        if decision not in shown:
            groups.setdefault(decision.status, []).append(decision)
    return groups


def machine_line(machine: Machine) -> str:
    """The machine in one line; what is unknown is named as such or left out."""
    return ", ".join(machine_facts(machine))


def machine_facts(machine: Machine) -> list[str]:
    """Each fact of the machine by itself, the GPUs first."""
    return [
        _gpus_text(machine.gpus),
        *_named("driver", machine.driver),
        *_named("CUDA", machine.cuda_driver),
        *_named("NCCL", machine.nccl),
        f"jax {machine.jax or 'unknown'}",
        f"jaxlib {machine.jaxlib or 'unknown'}",
        *(f"{name} {version}" for name, version in sorted((machine.plugins or {}).items())),
        *_processes(machine),
        *(["WSL2"] if machine.wsl else []),
    ]


def _gpus_text(gpus: tuple[Gpu, ...] | None) -> str:
    if gpus is None:
        return "GPUs unknown"
    if not gpus:
        return "no GPU"
    kinds: dict[str, int] = {}
    for gpu in gpus:
        kind = f"{gpu.name or 'unknown GPU'} (cc {gpu.compute_capability or 'unknown'}, {size_text(gpu.memory_bytes)}{', vGPU' if gpu.vgpu else ''})"
        kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(f"{count} x {kind}" for kind, count in kinds.items())


def _named(name: str, value: str | None) -> list[str]:
    return [] if value is None else [f"{name} {value}"]


def _processes(machine: Machine) -> list[str]:
    processes = machine.processes
    if processes.count is None or processes.count == 1:
        return []
    started = f" ({processes.launcher})" if processes.launcher else ""
    rank = "unknown" if processes.rank is None else processes.rank
    ids = processes.local_device_ids
    own = (
        f", its own GPU{'s' * (len(ids) > 1)} {','.join(map(str, ids))}"
        if ids and len(ids) < len(machine.gpus or ())
        else ""
    )
    return [f"process {rank} of {processes.count}{started}{own}"]
