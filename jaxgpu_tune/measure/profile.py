"""Where a step of the user's program goes: what was seen of its processes, put together as one value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from ..knowledge.advice import Advice, advice_for
from ..model import NOTHING
from ..values import Value, jsonable
from .timeline import Timeline
from .trace.collectives import Collective
from .trace.kernels import Kernel
from .trace.memory import Memory
from .trace.reduction import PARTS, GpuStep, Reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Host", "Profile", "Rank", "Watched", "profile_of"]

SKEW = 0.03
"""So large a share of a step must ranks differ in work of their own for the slowest to be named."""
OF_GRAPHS = (
    "idle_host_ms",
    "idle_host_share",
    "idle_launches_ms",
    "idle_launches_share",
    "in_graphs_share",
    "graph_launches",
)
"""Measures that a run without CUDA graphs does not tell of the program as it is."""
UNSEEN = 0.1
"""So large a share of a step inside CUDA graphs is told."""


class Host(Value):
    """The host's side, in seconds; None: not known.

    ``first_step_s``: from the start of the process to the end of its first step; ``compile_s``: all real compilations
    (those that the cache had are left out); ``recompile_s``: those of the step's function after its first.
    """

    first_step_s: float | None = None
    compiled: int = 0
    compile_s: float = 0.0
    recompiled: int = 0
    recompile_s: float = 0.0


class Watched(Value):
    """What was seen of one process.

    ``step_s``: seconds from step to step without the tracer (None: no steady state), by ``clock``; ``error``: its standard
    error as a share; ``reduction``: of its trace (None, and why not).
    """

    rank: int | None = None
    processes: int | None = None
    step_s: float | None = None
    clock: str = ""
    function: str = ""
    error: float | None = None
    host: Host = Host()
    device: str = ""
    jax: str = ""
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    xla_flags: str = ""
    reduction: Reduction | None = None
    why_not_traced: str = ""
    timeline: Timeline = Timeline()


class Rank(Value):
    """One process; None: there is no device part of it.

    ``own_ms``: what it spends on work of its own (all but exposed communication and waiting for peers).
    """

    rank: int
    step_ms: float | None
    traced_ms: float | None = None
    own_ms: float | None = None
    waiting_ms: float | None = None
    parts: Mapping[str, float] = NOTHING


class Profile(Value):
    """Where a step goes. Milliseconds unless said; None: not known.

    ``step_ms``: the true step, without the tracer, by ``clock``; ``traced_ms``: the step as traced, which ``parts`` (means over the GPUs
    of the process told of) add up to; ``ranges``: the smallest and largest of each part over all GPUs of all processes. ``hidden_ms``:
    communication beside other work, of ``communicating_ms``; ``waiting_ms``: of the exposed, before the last GPU began.
    ``collectives`` and ``kernels`` are the first GPU's; ``gpus`` has each one's. ``advice``: what follows, with its reason and evidence.
    ``slow_rank``: the rank that others wait for; ``skew_ms``: by how much ranks differ in work of their own. ``unnamed_ms``: the step with
    CUDA graphs, where the trace was taken without (``--names``). ``memory``: of the step's program, as XLA plans it. ``notes``: what could not be seen, and why.
    """

    command: tuple[str, ...] = ()
    step_ms: float | None = None
    traced_ms: float | None = None
    clock: str = ""
    function: str = ""
    error: float | None = None
    parts: Mapping[str, float] = NOTHING
    ranges: Mapping[str, tuple[float, float]] = NOTHING
    communicating_ms: float = 0.0
    hidden_ms: float = 0.0
    waiting_ms: float = 0.0
    collectives: tuple[Collective, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    advice: tuple[Advice, ...] = ()
    gpus: tuple[GpuStep, ...] = ()
    silent_gpus: tuple[str, ...] = ()
    ranks: tuple[Rank, ...] = ()
    slow_rank: int | None = None
    skew_ms: float | None = None
    host: Host = Host()
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    memory: Memory | None = None
    device: str = ""
    jax: str = ""
    unnamed_ms: float | None = None
    measures: Mapping[str, float | None] = NOTHING
    notes: tuple[str, ...] = ()
    timeline: Timeline = Timeline()

    @property
    def tracer_cost(self) -> float | None:
        """By how much the tracer slowed the step, as a share of it; None: not known."""
        return self.traced_ms / self.step_ms - 1 if self.traced_ms and self.step_ms and self.gpus else None

    @property
    def slow_gpu(self) -> str | None:
        """Of the GPUs of this process the one that the others wait for; None: they differ little."""
        own = sorted(
            (gpu.step_ms - gpu.parts["exposed_communication"] - gpu.parts["idle_peer"], gpu.gpu) for gpu in self.gpus
        )
        return own[-1][1] if len(own) > 1 and own[-1][0] - own[0][0] > SKEW * (self.traced_ms or 0.0) else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; the timeline is left out: the HTML page and the traces have it."""
        told: dict[str, Any] = jsonable(self)
        del told["timeline"]
        for gpu in told["gpus"]:
            del gpu["edges"]
        return {**told, "tracer_cost": self.tracer_cost, "slow_gpu": self.slow_gpu}

    def __str__(self) -> str:
        from ..render.profile import profile_text

        return profile_text(self)

    def _repr_html_(self) -> str:
        from ..render.profile_html import profile_html

        return profile_html(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """What an IPython terminal shows."""
        printer.text(str(self))


def profile_of(watched: Sequence[Watched], command: Sequence[str] = (), *, unnamed_s: float | None = None) -> Profile:
    """One profile of all processes that ran steps; the first in order of rank is the one that is told of."""
    ordered = sorted(watched, key=lambda one: (one.rank is None, one.rank or 0))
    told = next(
        (one for one in ordered if one.step_s is not None or one.reduction), ordered[0] if ordered else Watched()
    )
    gpus = told.reduction.gpus if told.reduction else ()
    every = [gpu for one in ordered if one.reduction for gpu in one.reduction.gpus]
    ranks = tuple(_rank(one, number) for number, one in enumerate(ordered))
    slow, skew = _slow(ranks)
    measures = _measures(told, gpus, len(every))
    if unnamed_s is not None:
        measures |= dict.fromkeys(OF_GRAPHS)
    parts = {name: fmean(gpu.parts[name] for gpu in gpus) for name in PARTS} if gpus else {}
    return Profile(
        command=tuple(command),
        step_ms=None if told.step_s is None else 1e3 * told.step_s,
        traced_ms=_mean(gpu.step_ms for gpu in gpus) if gpus else None,
        clock=told.clock,
        function=told.function,
        error=told.error,
        parts=parts,
        ranges={name: (min(g.parts[name] for g in every), max(g.parts[name] for g in every)) for name in parts},
        communicating_ms=_mean(gpu.communicating_ms for gpu in gpus),
        hidden_ms=_mean(gpu.hidden_ms for gpu in gpus),
        waiting_ms=_mean(gpu.waiting_ms for gpu in gpus),
        collectives=gpus[0].collectives if gpus else (),
        kernels=gpus[0].kernels if gpus else (),
        advice=advice_for(measures, _flag_names(told.xla_flags)),
        gpus=gpus,
        silent_gpus=told.reduction.silent_gpus if told.reduction else (),
        ranks=ranks,
        slow_rank=slow,
        skew_ms=skew,
        host=told.host,
        peak_bytes=told.peak_bytes,
        limit_bytes=told.limit_bytes,
        memory=told.reduction.memory if told.reduction else None,
        device=gpus[0].device or told.device if gpus else told.device,
        jax=told.jax,
        unnamed_ms=None if unnamed_s is None else 1e3 * unnamed_s,
        measures=measures,
        notes=tuple(_notes(told, gpus)),
        timeline=told.timeline,
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _rank(one: Watched, number: int) -> Rank:
    gpus = one.reduction.gpus if one.reduction else ()
    rank, step_ms = number if one.rank is None else one.rank, None if one.step_s is None else 1e3 * one.step_s
    if not gpus:
        return Rank(rank, step_ms)
    parts = {name: fmean(gpu.parts[name] for gpu in gpus) for name in PARTS}
    traced = fmean(gpu.step_ms for gpu in gpus)
    return Rank(
        rank=rank,
        step_ms=step_ms,
        traced_ms=traced,
        own_ms=traced - parts["exposed_communication"] - parts["idle_peer"],
        waiting_ms=fmean(gpu.waiting_ms for gpu in gpus),
        parts=parts,
    )


def _slow(ranks: Sequence[Rank]) -> tuple[int | None, float | None]:
    """The rank with most work of its own, if that stands out, and by how much ranks differ."""
    own = sorted((one.own_ms, one.rank, one.traced_ms or 0.0) for one in ranks if one.own_ms is not None)
    if len(own) < 2:
        return None, None
    most, slow, traced = own[-1]
    skew = most - own[0][0]
    return (slow if skew > SKEW * traced else None), skew


def _measures(told: Watched, gpus: Sequence[GpuStep], every: int) -> dict[str, float | None]:
    """What rules of advice go by: see ``knowledge/advice.MEASURES``."""
    host = {
        "recompilations": float(told.host.recompiled),
        "recompile_seconds": told.host.recompile_s,
        "memory_share": told.peak_bytes / told.limit_bytes if told.peak_bytes and told.limit_bytes else None,
    }
    if not gpus:
        return host
    step = _mean(gpu.step_ms for gpu in gpus)
    idle = _true_idle(told, gpus)
    found = {
        "looped_gathers": _mean(map(_looped_gathers, gpus)),
        "gathered_transposes": _mean(gpu.gathered_transposes_ms for gpu in gpus),
        "waiting": _mean(gpu.waiting_ms for gpu in gpus),
        "idle_host": idle * _mean(gpu.parts["idle_host"] for gpu in gpus),
        "idle_launches": idle * _mean(gpu.parts["idle_launches"] for gpu in gpus),
        "float32_products": _mean(gpu.float32_products_ms for gpu in gpus),
    }
    launches = _mean(gpu.launches for gpu in gpus)
    busy = _mean(sum(gpu.parts[name] for name in PARTS if not name.startswith("idle")) for gpu in gpus)
    capabilities = [gpu.capability for gpu in gpus if gpu.capability is not None]
    return {
        **host,
        **{f"{name}_ms": value for name, value in found.items()},
        **{f"{name}_share": value / step for name, value in found.items()},
        "gpus": float(every),
        "compute_capability": min(capabilities) if len(capabilities) == len(gpus) else None,
        "collectives": _mean(sum(one.runs for one in gpu.collectives) for gpu in gpus),
        "gathers": _mean(sum(one.runs for one in gpu.collectives if one.kind == "all-gather") for gpu in gpus),
        "launches": launches,
        "mean_kernel_us": 1e3 * busy / launches if launches else None,
        "in_graphs_share": _mean(gpu.graphs.ms for gpu in gpus) / step,
        "graph_launches": _mean(gpu.graphs.launches for gpu in gpus),
    }


def _true_idle(told: Watched, gpus: Sequence[GpuStep]) -> float:
    """The share of all idle time that the tracer did not add: what it makes a step longer is time in which the host is busy with it."""
    idle = _mean(sum(gpu.parts[name] for name in PARTS if name.startswith("idle")) for gpu in gpus)
    if told.step_s is None or not idle:
        return 1.0
    added = _mean(gpu.step_ms for gpu in gpus) - 1e3 * told.step_s
    return min(1.0, max(0.0, 1 - added / idle))


def _looped_gathers(gpu: GpuStep) -> float:
    """Exposed milliseconds of all-gathers of which an instruction runs more than once a step."""
    gathers = (one for one in gpu.collectives if one.kind == "all-gather")
    return sum(one.exposed_ms for one in gathers if one.runs > 1.5 * len(one.ops))


def _flag_names(xla_flags: str) -> frozenset[str]:
    return frozenset(word.lstrip("-").partition("=")[0] for word in xla_flags.split())


def _notes(told: Watched, gpus: Sequence[GpuStep]) -> Iterable[str]:
    """What could not be seen, and why."""
    if told.step_s is None:
        yield "No steady state was found: there is no time from step to step."
    if told.why_not_traced:
        yield f"There is no trace: {told.why_not_traced}."
    elif told.reduction and not gpus:
        yield "No GPU ran anything in the trace (on a CPU there is no device part): only the host's clock is told."
    if gpus and not gpus[0].steps:
        yield "Nothing repeats in the trace, so that all of it counts as one step: trace more steps."
    if gpus and gpus[0].parts["cuda_graphs"] > UNSEEN * gpus[0].step_ms:
        share = gpus[0].parts["cuda_graphs"] / gpus[0].step_ms
        yield f"{share:.0%} of the step run inside CUDA graphs without a kernel shown: --names traces a run without CUDA graphs."
