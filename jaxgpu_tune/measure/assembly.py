"""One profile out of what was seen of all processes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..knowledge.advice import advice_for
from ..planning.xla_flags.grammar import scan
from .measures import OF_GRAPHS, mean, measures_of
from .profile import SKEW, Profile, Rank, Watched
from .trace.reduction import PARTS, GpuStep

__all__ = ["profile_of"]

AS_SEEN = ("clock", "function", "error", "host", "peak_bytes", "limit_bytes", "jax", "timeline")
"""What a profile tells as it was seen of the process."""
UNSEEN = 0.1
"""So large a share of a step inside CUDA graphs is told."""


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
    measures = measures_of(told, gpus, len(every))
    if unnamed_s is not None:
        measures |= dict.fromkeys(OF_GRAPHS)
    parts = _mean_parts(gpus)
    return Profile(
        command=tuple(command),
        step_ms=None if told.step_s is None else 1e3 * told.step_s,
        traced_ms=mean(gpu.step_ms for gpu in gpus) if gpus else None,
        parts=parts,
        ranges={name: (min(g.parts[name] for g in every), max(g.parts[name] for g in every)) for name in parts},
        advice=advice_for(measures, frozenset(token.name for token in scan(told.xla_flags).tokens if token.name)),
        ranks=ranks,
        slow_rank=slow,
        skew_ms=skew,
        unnamed_ms=None if unnamed_s is None else 1e3 * unnamed_s,
        measures=measures,
        notes=tuple(_notes(told, gpus)),
        **{name: getattr(told, name) for name in AS_SEEN},
        **_of_gpus(told, gpus),
    )


def _of_gpus(told: Watched, gpus: Sequence[GpuStep]) -> dict[str, Any]:
    """The fields that the trace fills."""
    seen = told.reduction
    return {
        "communicating_ms": mean(gpu.communicating_ms for gpu in gpus),
        "hidden_ms": mean(gpu.hidden_ms for gpu in gpus),
        "waiting_ms": mean(gpu.waiting_ms for gpu in gpus),
        "collectives": gpus[0].collectives if gpus else (),
        "kernels": gpus[0].kernels if gpus else (),
        "gpus": tuple(gpus),
        "silent_gpus": seen.silent_gpus if seen else (),
        "memory": seen.memory if seen else None,
        "device": (gpus[0].device if gpus else "") or told.device,
    }


def _rank(one: Watched, number: int) -> Rank:
    gpus = one.reduction.gpus if one.reduction else ()
    rank, step_ms = number if one.rank is None else one.rank, None if one.step_s is None else 1e3 * one.step_s
    if not gpus:
        return Rank(rank, step_ms)
    return Rank(
        rank=rank,
        step_ms=step_ms,
        traced_ms=mean(gpu.step_ms for gpu in gpus),
        own_ms=mean(gpu.own_ms for gpu in gpus),
        waiting_ms=mean(gpu.waiting_ms for gpu in gpus),
        parts=_mean_parts(gpus),
    )


def _slow(ranks: Sequence[Rank]) -> tuple[int | None, float | None]:
    """The rank with most work of its own, if that stands out, and by how much ranks differ."""
    own = sorted((one.own_ms, one.rank, one.traced_ms or 0.0) for one in ranks if one.own_ms is not None)
    if len(own) < 2:
        return None, None
    most, slow, traced = own[-1]
    skew = most - own[0][0]
    return (slow if skew > SKEW * traced else None), skew


def _mean_parts(gpus: Sequence[GpuStep]) -> dict[str, float]:
    return {name: mean(gpu.parts[name] for gpu in gpus) for name in PARTS} if gpus else {}


def _notes(told: Watched, gpus: Sequence[GpuStep]) -> Iterable[str]:
    """What could not be seen, and why."""
    if told.step_s is None:
        yield "No steady state was found: there is no time from step to step."
    if told.why_not_traced:
        yield f"There is no trace: {told.why_not_traced}."
    elif told.reduction and not gpus:
        yield "No GPU ran anything in the trace, so there is no device part: only the host's times are reported."
    if gpus and not gpus[0].steps:
        yield "Nothing repeats in the trace, so that all of it counts as one step: trace more steps."
    if gpus and gpus[0].parts["cuda_graphs"] > UNSEEN * gpus[0].step_ms:
        share = gpus[0].parts["cuda_graphs"] / gpus[0].step_ms
        yield f"{share:.0%} of the step run inside CUDA graphs without a kernel shown: --names traces a run without CUDA graphs."
