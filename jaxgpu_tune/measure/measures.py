"""What rules of advice go by, computed from where a step went: see ``knowledge/advice.MEASURES``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from .profile import Watched
from .trace.collectives import Collective
from .trace.reduction import PARTS, GpuStep

__all__ = ["OF_GRAPHS", "mean", "measures_of"]

OF_GRAPHS = (
    "idle_host_ms",
    "idle_host_share",
    "idle_launches_ms",
    "idle_launches_share",
    "in_graphs_share",
    "graph_launches",
)
"""Measures that a run without CUDA graphs does not tell of the program as it is."""

SMALL_SUM = 1 << 20
"""Bytes of an array up to which a sum over the GPUs is a matter of latency: those of ``comms`` are up to this size by default."""


def mean(values: Iterable[float]) -> float:
    """The mean; 0 of nothing."""
    found = list(values)
    return fmean(found) if found else 0.0


def measures_of(told: Watched, gpus: Sequence[GpuStep], every: int) -> dict[str, float | None]:
    """What rules of advice go by: see ``knowledge/advice.MEASURES``."""
    if not gpus:
        return _of_host(told)
    step = mean(gpu.step_ms for gpu in gpus)
    idle = _true_idle(told, gpus)
    found = {
        "looped_gathers": mean(map(_looped_gathers, gpus)),
        "small_sums": mean(sum(map(_exposed, _sums(gpu, small=True))) for gpu in gpus),
        "large_sums": mean(sum(map(_exposed, _sums(gpu, small=False))) for gpu in gpus),
        "gathered_transposes": mean(gpu.gathered_transposes_ms for gpu in gpus),
        "waiting": mean(gpu.waiting_ms for gpu in gpus),
        "idle_host": idle * mean(gpu.parts["idle_host"] for gpu in gpus),
        "idle_launches": idle * mean(gpu.parts["idle_launches"] for gpu in gpus),
        "float32_products": mean(gpu.float32_products_ms for gpu in gpus),
    }
    capabilities = [gpu.capability for gpu in gpus if gpu.capability is not None]
    return {
        **_of_host(told),
        **{f"{name}_ms": value for name, value in found.items()},
        **{f"{name}_share": value / step for name, value in found.items()},
        "gpus": float(every),
        "compute_capability": min(capabilities) if len(capabilities) == len(gpus) else None,
        "collectives": mean(sum(one.runs for one in gpu.collectives) for gpu in gpus),
        "gathers": mean(sum(one.runs for one in gpu.collectives if one.kind == "all-gather") for gpu in gpus),
        "small_sums": mean(sum(one.runs for one in _sums(gpu, small=True)) for gpu in gpus),
        "in_graphs_share": mean(gpu.graphs.ms for gpu in gpus) / step,
        "graph_launches": mean(gpu.graphs.launches for gpu in gpus),
        **_of_launches(gpus),
    }


def _of_host(told: Watched) -> dict[str, float | None]:
    return {
        "recompilations": float(told.host.recompiled),
        "recompile_seconds": told.host.recompile_s,
        "compilations": float(told.host.compiled),
        "compile_seconds": told.host.compile_s,
        "memory_share": told.peak_bytes / told.limit_bytes if told.peak_bytes and told.limit_bytes else None,
    }


def _of_launches(gpus: Sequence[GpuStep]) -> dict[str, float | None]:
    launches = mean(gpu.launches for gpu in gpus)
    busy = mean(sum(gpu.parts[name] for name in PARTS if not name.startswith("idle")) for gpu in gpus)
    return {
        "launches": launches,
        "looped_launches_share": mean(gpu.looped_launches for gpu in gpus) / launches if launches else None,
        "mean_kernel_us": 1e3 * busy / launches if launches else None,
    }


def _true_idle(told: Watched, gpus: Sequence[GpuStep]) -> float:
    """The share of all idle time that the tracer did not add: what it makes a step longer is time in which the host is busy with it."""
    idle = mean(sum(gpu.parts[name] for name in PARTS if name.startswith("idle")) for gpu in gpus)
    if told.step_s is None or not idle:
        return 1.0
    added = mean(gpu.step_ms for gpu in gpus) - 1e3 * told.step_s
    return min(1.0, max(0.0, 1 - added / idle))


def _looped_gathers(gpu: GpuStep) -> float:
    """Exposed milliseconds of all-gathers of which an instruction runs more than once a step."""
    gathers = (one for one in gpu.collectives if one.kind == "all-gather")
    return sum(one.exposed_ms for one in gathers if one.runs > 1.5 * len(one.ops))


def _sums(gpu: GpuStep, *, small: bool) -> Iterator[Collective]:
    for one in gpu.collectives:
        if one.kind == "all-reduce" and one.bytes is not None and (one.bytes <= SMALL_SUM) is small:
            yield one


def _exposed(one: Collective) -> float:
    return one.exposed_ms - one.waiting_ms
