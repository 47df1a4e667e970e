"""The fraction of the GPU's memory as a call or a preset asks for it; "auto": computed, with the arithmetic as its reason.

Only what every process of a job sees alike counts: the total memory, never what is free at the moment.
"""

from __future__ import annotations

from ..knowledge import pool as known
from ..model import Decision, Observation, Origin, Preset, Setting
from ..wording import size_text
from .base.conditions import Facts
from .base.wish import Stated
from .request import Request
from .settings.pool_variables import COLLECTIVE_POOL, fraction_name

__all__ = ["asked_fraction", "stated_fraction", "strangers"]

FROM_CALL = "argument memory_fraction"
LEAST = 0.1
"""Of a card so small that the reserve is nearly all of it."""


def asked_fraction(request: Request, observation: Observation, facts: Facts) -> Stated:
    """The fraction that the call asks for, as a variable."""
    name = fraction_name(observation.environ, observation.machine.jaxlib)
    if request.memory_fraction == "auto":
        return _auto(request, observation, facts, Setting("env", name, None, "", FROM_CALL), "argument")
    if request.memory_fraction is not None:
        value, reason, source = f"{float(request.memory_fraction):g}", "asked for", FROM_CALL
    else:
        share = request.processes_per_gpu or 1
        whole = known.most("integrated" if _integrated(observation) else "processes")
        value, source = _floor(whole / share), "argument processes_per_gpu"
        reason = f"{share} processes share {whole:.0%} of each GPU's total memory"
    return Stated((Setting("env", name, value, reason, source, argument=source.removeprefix("argument ")),))


def stated_fraction(preset: Preset, request: Request, observation: Observation, facts: Facts) -> Stated:
    """The fraction that a preset states, as one of its settings, or why there is none."""
    name, source = fraction_name(observation.environ, observation.machine.jaxlib), f"preset {preset.name}"
    if preset.memory_fraction == "auto":
        return _auto(request, observation, facts, Setting("env", name, None, "", source), "preset")
    return Stated((Setting("env", name, f"{float(preset.memory_fraction or 0):g}", "part of the preset", source),))


def strangers(observation: Observation) -> tuple[known.Neighbour, ...]:
    """The libraries imported here that take GPU memory of their own."""
    return tuple(one for one in known.neighbours() if one.module in observation.modules)


def _auto(request: Request, observation: Observation, facts: Facts, blank: Setting, origin: Origin) -> Stated:
    """The computed fraction, or the decision that there is none. ``blank``: the setting without its value."""
    totals = [gpu.memory_bytes for gpu in observation.machine.gpus or ()]
    sizes = [size for size in totals if size]
    unknown = not sizes or len(sizes) < len(totals)
    if unknown and not _integrated(observation):
        reason = "the GPUs' memory is unknown, so no fraction can be computed"
        return Stated(decisions=(Decision("env", blank.name, None, "unmet", reason, blank.source, origin),))
    whole, why = _ceiling(request, observation)
    parts = [f"at most {whole:.0%}{why}"]
    if not unknown:
        left = _left(request, observation, facts)
        reserve = sum(left.values())
        whole = min(whole, max(LEAST, 1 - reserve / min(sizes)))
        parts.insert(0, f"{size_text(min(sizes))} in all, {size_text(reserve)} left to {_listed(list(left))}")
    if request.processes_per_gpu:
        parts.append(f"shared by {request.processes_per_gpu} processes")
    share = _floor(whole / (request.processes_per_gpu or 1))
    parts.append(f"by the total memory alone; nvidia-smi shows {float(share):.0%} in use whatever the program uses")
    return Stated((blank._replace(value=share, reason=", ".join(parts)),))


def _ceiling(request: Request, observation: Observation) -> tuple[float, str]:
    """The most that is taken, and why it is less than usual."""
    reasons = {"auto": ""}
    if _integrated(observation):
        reasons["integrated"] = ", since the GPU's memory is the host's own"
    if beside := strangers(observation):
        reasons["neighbours"] = f", since {_listed([one.name for one in beside])} in this process needs GPU memory too"
    if request.held.registers:
        reasons["registered_buffers"] = ", since NCCL's registered buffers lie outside"
    lowest = min(reasons, key=known.most)
    return known.most(lowest), reasons[lowest]


def _left(request: Request, observation: Observation, facts: Facts) -> dict[str, int]:
    """Bytes left to each: NCCL unless the job is known to have one GPU; a desktop only where no other process has to agree."""
    left = {"CUDA, cuBLAS and cuDNN": known.left_bytes("libraries")}
    if facts.devices != 1:
        left["NCCL"] = known.left_bytes("nccl")
    if pool := request.held.collective_bytes:
        left[COLLECTIVE_POOL] = pool
    if facts.processes == 1 and any(gpu.display for gpu in observation.machine.gpus or ()):
        left["the desktop"] = known.left_bytes("display")
    return left


def _integrated(observation: Observation) -> bool:
    return any(known.is_integrated(gpu.compute_capability) for gpu in observation.machine.gpus or ())


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _floor(fraction: float) -> str:
    """Rounded down, to the percent, and of less than one percent to its hundredth: all the shares fit together."""
    steps = 100 if fraction >= 0.01 else 10000
    return f"{int(fraction * steps + 1e-9) / steps:g}"
