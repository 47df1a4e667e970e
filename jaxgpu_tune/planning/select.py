"""Presets and facts: which settings of which presets hold on this machine, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge.families import acts
from ..knowledge.presets import owner_of
from ..model import Decision, Finding, Gpu, Machine, Origin, Preset, Setting
from ..values import Value
from ..wording import FOR_THE_JOB, MIB
from .base.conditions import ConditionAnswer, Facts, all_met, evaluate
from .findings.plan_hazards import withheld
from .request import Request
from .settings.setting_names import THRESHOLD_FLAGS

__all__ = [
    "Selection",
    "advised",
    "facts_of",
    "job_devices",
    "nothing_set",
    "select",
    "unheeded",
]

FLAGS_FOR_GPUS = "xla_gpu_"
REMEDIES = {
    "compute_capability": "Pass unmeasured=True (--unmeasured) to set it all the same; `jaxgpu-tune compare` tells whether it pays on your program.",
    "devices": "If the job uses another number of GPUs than are visible here, say so: devices=N, or CUDA_VISIBLE_DEVICES.",
    "processes": "If each process is a run of its own, say how many GPUs a run uses: devices=1, or more.",
    "jaxlib": "Its settings are for other releases of jaxlib; `jaxgpu-tune explain {preset}` lists them.",
}
"""What can be done where a preset sets nothing, by the one condition that does not hold; the preset's name goes in."""
SEVERAL = "`jaxgpu-tune explain {preset}` lists where its settings hold."
"""The same where several conditions do not hold."""
GENERATION = "Compute capability is the GPU's generation: 8.0 is A100, 9.0 H100 and H200, 10.0 B200."


def facts_of(machine: Machine, request: Request) -> Facts:
    """What conditions may ask about, from what was observed and what was said."""
    gpus, processes = machine.gpus, job_processes(machine, request)
    no_gpu = request.platform == "cpu" or gpus == ()
    return Facts(
        jaxlib=machine.jaxlib,
        compute_capabilities=() if no_gpu else _capabilities(gpus),
        devices=job_devices(machine, request),
        local_gpus=0 if no_gpu else None if gpus is None else len(gpus),
        nvlink=_nvlink(gpus),
        processes=processes,
        hosts=_hosts(machine, processes),
        platform=request.platform or ("cpu" if no_gpu else None if gpus is None else "cuda"),
        nccl=machine.nccl,
    )


def _capabilities(gpus: tuple[Gpu, ...] | None) -> tuple[str, ...] | None:
    found = [gpu.compute_capability for gpu in gpus or ()]
    known = tuple(one for one in found if one is not None)
    return known if known and len(known) == len(found) else None


def job_devices(machine: Machine, request: Request) -> int | None:
    """The GPUs of the whole job: as said, else processes x local devices (a process takes its share of what all see)."""
    own, processes = _own_gpus(machine), job_processes(machine, request)
    if request.devices is not None or request.platform == "cpu" or own is None or processes is None:
        return request.devices
    return processes * own


def job_processes(machine: Machine, request: Request) -> int | None:
    """As the launcher tells, but no more than the devices of the job ask for. Without a launcher it is one process (the same on each)."""
    own, count = _own_gpus(machine), machine.processes.count
    if request.devices is not None and own:
        asked = -(-request.devices // own)
        return min(count, asked) if count else asked
    return count or (1 if machine.processes.launcher is None else None)


def _own_gpus(machine: Machine) -> int | None:
    """The GPUs that this process uses of those that it sees."""
    if not machine.gpus:
        return None if machine.gpus is None else 0
    own, local_count = machine.processes.local_device_ids, machine.processes.local_count
    return len(own) if own else max(1, len(machine.gpus) // (local_count or 1))


def _nvlink(gpus: tuple[Gpu, ...] | None) -> bool | None:
    if gpus is None or any(gpu.nvlink_peers is None for gpu in gpus):
        return None
    everyone = {gpu.index for gpu in gpus}
    return all(everyone - {gpu.index} <= set(gpu.nvlink_peers or ()) for gpu in gpus)


def _hosts(machine: Machine, processes: int | None) -> int | None:
    local = machine.processes.local_count
    if processes == 1:
        return 1
    return -(-processes // local) if processes and local else None


class Selection(Value):
    """The ``settings`` that hold on this machine; those that do not (``unmet``), with a decision for each."""

    settings: tuple[Setting, ...]
    unmet: tuple[Setting, ...]
    decisions: tuple[Decision, ...]


def select(settings: tuple[Setting, ...], origin: Origin, request: Request, facts: Facts) -> Selection:
    """Which settings hold here, and why the others do not."""
    sized = settings if request.layer_bytes is None else _sized(settings, request.layer_bytes)
    judged = [_judged(setting, request, facts) for setting in sized]
    unmet = [(one, why_not) for one, why_not in judged if why_not]
    return Selection(
        settings=tuple(one for one, why_not in judged if not why_not),
        unmet=tuple(one for one, _ in unmet),
        decisions=tuple(Decision(s.kind, s.name, None, "unmet", why, s.source, origin) for s, why in unmet),
    )


def _judged(setting: Setting, request: Request, facts: Facts) -> tuple[Setting, str]:
    """The setting, marked where it was measured elsewhere alone, and why it does not hold here (empty: it does)."""
    missed = _missed(setting, facts)
    waived = request.unmeasured and _is_of_other_gpus(missed)
    if missed and not waived:
        return setting, " ".join(verdict.sentence for verdict in missed)
    clash = request.held.clashing.get(setting.name)
    danger = clash.message if clash else withheld(setting, facts)
    if danger:
        return setting, danger
    return setting._replace(reason=f"{setting.reason}; {_unmeasured(setting)}") if waived else setting, ""


def unheeded(preset: Preset, request: Request) -> Iterator[Finding]:
    """What is asked for and is not done here."""
    yield from request.held.clashing.values()
    if request.layer_bytes is not None and not any(s.name in THRESHOLD_FLAGS for s in preset.settings):
        message = f"layer_bytes has no effect: preset {preset.name} sets no combine threshold."
        yield Finding("layer-bytes-unused", "warning", message, "It serves presets such as fsdp.")


def nothing_set(
    preset: Preset, selection: Selection, request: Request, facts: Facts, machine: Machine
) -> Iterator[Finding]:
    """Whether JAX has no GPU that it is installed for, and whether a preset that has settings sets none of them here, and why."""
    if request.platform == "cpu":
        return
    if not machine.gpus:
        if any(name.endswith("-plugin") for name in machine.plugins or ()) or _fails_without(request, machine):
            yield _no_gpu(preset, request, machine)
        return
    held = {setting.source for setting in selection.settings}
    for part in _parts(preset) if held else (preset,):
        told = all(setting.name in request.held.clashing for setting in part.settings)
        if not told and held.isdisjoint(setting.source for setting in part.settings):
            yield _sets_nothing(part, facts)


def _parts(preset: Preset) -> Iterator[Preset]:
    """Each preset of this library that is joined in it, with its own settings."""
    for name in preset.name.split("+"):
        own = tuple(setting for setting in preset.settings if owner_of(setting.source) == name.strip())
        yield preset._replace(name=name.strip(), settings=own)


def _fails_without(request: Request, machine: Machine) -> bool:
    if machine.gpus is None or not request.held.platforms:
        return False
    from .settings.platforms import gpus_alone

    return gpus_alone(request.held.platforms)


def _no_gpu(preset: Preset, request: Request, machine: Machine) -> Finding:
    from .settings.platforms import outcome_without_gpu

    without = outcome_without_gpu(request.held.platforms, machine)
    plugin = "JAX's CUDA plugin is installed, but no" if machine.plugins else "No"
    message = f"{plugin} NVIDIA GPU can be used here: {without}{', and ' + preset.name + ' sets nothing' if preset.settings else ''}."
    hint = f"Look at nvidia-smi and CUDA_VISIBLE_DEVICES; in a container: docker run --gpus all. {FOR_THE_JOB}"
    return Finding("no-gpu", "error", message, hint)


def _sets_nothing(preset: Preset, facts: Facts) -> Finding:
    """All that most of its settings miss (were one of it mended, the next would stop them), and what can be done about it."""
    ways = [tuple(missed) for setting in preset.settings if (missed := _missed(setting, facts))]
    often = max(ways, key=ways.count) if ways else ()
    why = " ".join(one.sentence for one in often) or "A known hazard of this release stands against it."
    begin = why[0] if why[:2].isupper() else why[0].lower()  # NVLink, NCCL
    remedy = _remedy([one.condition for one in often]).replace("{preset}", preset.name)
    message = f"{preset.name} sets nothing here: {begin}{why[1:]}"
    return Finding("preset-sets-nothing", "warning", message, remedy)


def _remedy(missed: list[str]) -> str:
    """``unmeasured=True`` is of use only where nothing but the GPU is another one."""
    remedy = SEVERAL if len(missed) > 1 else "".join(REMEDIES.get(condition, "") for condition in missed)
    return f"{GENERATION} {remedy}" if "compute_capability" in missed else remedy


def _is_of_other_gpus(missed: list[ConditionAnswer]) -> bool:
    """Whether all that speaks against a setting is that it was measured on other GPUs."""
    return bool(missed) and all(one.condition == "compute_capability" and one.met is False for one in missed)


def _unmeasured(setting: Setting) -> str:
    return f"unmeasured on these GPUs, measured for compute capability {setting.when['compute_capability']}"


def advised(preset: Preset, facts: Facts) -> Iterator[Finding]:
    """What the program itself can do here, beyond any setting."""
    for text, when in preset.advice:
        if all_met(when, facts):
            yield Finding("advice", "note", text)


def _missed(setting: Setting, facts: Facts) -> list[ConditionAnswer]:
    """The conditions of a setting that do not hold here, or are unknown."""
    if _is_for_a_gpu(setting) and facts.platform != "cuda":
        sentence = "No NVIDIA GPU is used here." if facts.platform else "Whether there is an NVIDIA GPU is unknown."
        return [ConditionAnswer("platform", False if facts.platform else None, sentence)]
    return [verdict for verdict in evaluate(setting.when, facts) if verdict.met is not True]


def _is_for_a_gpu(setting: Setting) -> bool:
    return setting.name.startswith(FLAGS_FOR_GPUS) or (setting.kind == "env" and acts(setting.name, "gpu"))


def _sized(settings: tuple[Setting, ...], layer_bytes: int) -> tuple[Setting, ...]:
    threshold = -(-layer_bytes // MIB) * MIB
    reason = f"holds one layer of {layer_bytes} bytes (layer_bytes), in whole MiB"
    return tuple(
        s._replace(value=str(threshold), reason=f"{reason}; {s.reason}") if s.name in THRESHOLD_FLAGS else s
        for s in settings
    )
