"""A trace reduced to where a step goes: pure, from events to milliseconds of which each has one owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..observer.compiled import compiled_name
from .buffer_plan import BufferPlan
from .collectives import Collective, Occurrence, collectives_of, waits
from .events import Event, Trace
from .idle import SHORT, HostCalls, causes, host_of
from .kernels import Kernel, kernels_of
from .kinds import GRAPH, Work, works_on
from .steps import Steps, host_calls, steps_on
from .sweep import Span, spans

__all__ = ["PARTS", "GpuStep", "Graphs", "Reduction", "dominant_call", "reduce_trace"]

PARTS = ("computing", "copies", "exposed_communication", "cuda_graphs", "idle_host", "idle_launches", "idle_peer")
"""The parts of a step; each millisecond belongs to exactly one."""
PART_OF = {
    "computing": "computing",
    "copies": "copies",
    "communication": "exposed_communication",
    "graph": "cuda_graphs",
}
NS = 1e-6
"""Milliseconds of a nanosecond."""
CLOSE = 1e-6
"""So many milliseconds the parts may miss the step by rounding."""


class Graphs(NamedTuple):
    """CUDA graphs in a step: ``launches``; ``ms`` that they own, of which ``whole_ms`` as one event each; ``kernels`` that are shown of them."""

    launches: float = 0.0
    ms: float = 0.0
    whole_ms: float = 0.0
    kernels: float = 0.0


class GpuStep(NamedTuple):
    """The mean step of one GPU, in milliseconds: ``parts`` add up to ``step_ms``.

    ``steps``: how many whole ones were seen (0: nothing repeated, all that ran counts as one); ``by``: what marks their beginning.
    ``communicating_ms``: while any communication ran, of which ``hidden_ms`` beside other work and ``waiting_ms`` (of the exposed)
    for a peer that had not begun; ``transposes_ms``: kernels that transpose (what else they do included, products apart), ``gathered_transposes_ms``: those of them that the
    program did not write, in a step that gathers; ``conversions_ms``: copies that convert; all whoever owns the moment. ``launches``: kernels and copies,
    of which ``looped_launches`` in loops whose number of turns is known only while they run.
    """

    gpu: str
    device: str
    capability: float | None
    steps: int
    by: str
    module: str
    step_ms: float
    parts: Mapping[str, float]
    communicating_ms: float
    hidden_ms: float
    waiting_ms: float
    transposes_ms: float
    gathered_transposes_ms: float
    conversions_ms: float
    float32_products_ms: float
    launches: float
    looped_launches: float
    graphs: Graphs
    collectives: tuple[Collective, ...]
    kernels: tuple[Kernel, ...]
    edges: tuple[float, ...]

    @property
    def own_ms(self) -> float:
        """Its own work: all but exposed communication and waiting for peers."""
        return self.step_ms - self.parts["exposed_communication"] - self.parts["idle_peer"]


class Reduction(NamedTuple):
    """All GPUs that ran something, and for each jitted function how often the host called it and every how many milliseconds.

    ``memory``: of the program that the step is, on one device; None: not in the trace.
    """

    gpus: tuple[GpuStep, ...]
    silent_gpus: tuple[str, ...]
    host: Mapping[str, tuple[int, float | None]]
    memory: BufferPlan | None = None


def reduce_trace(trace: Trace, *, processes: int = 1) -> Reduction:
    """Where the steps in a trace went. ``processes``: of the job, each with as many GPUs as this one."""
    works = {gpu: works_on(trace, gpu) for gpu in trace.gpus()}
    busy = {gpu: found for gpu, found in works.items() if found}
    calls = host_calls(trace)
    late = waits(busy)
    count = processes * len(busy)
    steps = tuple(_gpu_step(trace, gpu, found, steps_on(found, calls), late[gpu], count) for gpu, found in busy.items())
    host = {name: _pace(c) for name, c in calls.items()}
    module = steps[0].module if steps else compiled_name(dominant_call(host))
    memory = trace.modules[module].memory if module in trace.modules else None
    return Reduction(steps, tuple(gpu for gpu in works if gpu not in busy), host, memory)


def dominant_call(host: Mapping[str, tuple[int, float | None]]) -> str:
    """The function whose calls take most time together; empty: none was called twice."""
    took = {name: calls * ms for name, (calls, ms) in host.items() if ms is not None}
    return max(sorted(took), key=lambda name: took[name], default="")


def _pace(calls: Sequence[Event]) -> tuple[int, float | None]:
    """How many calls, and the milliseconds from one to the next; None: one only."""
    if len(calls) < 2:
        return len(calls), None
    return len(calls), (calls[-1].start_ns - calls[0].start_ns) * NS / (len(calls) - 1)


def _gpu_step(
    trace: Trace, gpu: str, works: Sequence[Work], steps: Steps, late: Mapping[int, float], peers: int
) -> GpuStep:
    start, end, number = steps.edges[0], steps.edges[-1], steps.number
    inside = [work for work in works if start <= work.start < end]
    owned = list(spans(works, start, end))
    parts = _parts(owned, works, host_of(trace, gpu))
    parts = {name: parts.get(name, 0.0) * NS / number for name in PARTS}
    step_ms = (end - start) * NS / number
    assert abs(sum(parts.values()) - step_ms) < CLOSE * max(1.0, step_ms), "the parts of a step add up to it"
    occurrences = _occurrences(owned, inside, late)
    return GpuStep(
        gpu=gpu,
        device=str(trace.planes.get(gpu, {}).get("gpu_device_name", "")),
        capability=_capability(trace.planes.get(gpu, {})),
        steps=number if steps.by else 0,
        by=steps.by,
        module=steps.module,
        step_ms=step_ms,
        parts=parts,
        **{f"{name}_ms": NS / number * time for name, time in _times(owned, inside, occurrences).items()},
        launches=sum(work.kind != "graph" or work.whole for work in inside) / number,
        looped_launches=sum(bool(work.instruction and work.instruction.open_loop) for work in inside) / number,
        graphs=_graphs(owned, inside, number),
        collectives=collectives_of(occurrences, number, peers),
        kernels=kernels_of(owned, number),
        edges=steps.edges,
    )


def _times(owned: Sequence[Span], inside: Sequence[Work], occurrences: Sequence[Occurrence]) -> dict[str, float]:
    """What takes time in a step beyond its parts, in nanoseconds over all steps."""
    gathers = any(work.collective == "all-gather" for work in inside)
    communicating = (s for s in owned if s.hidden or (s.owner and s.owner.kind == "communication"))
    return {
        "communicating": sum(s.end - s.start for s in communicating),
        "hidden": sum(s.end - s.start for s in owned if s.hidden),
        "waiting": sum(one.waiting for one in occurrences),
        "transposes": _time(work for work in inside if work.turns),
        "gathered_transposes": _time(filter(_laid_out_anew, inside)) if gathers else 0.0,
        "conversions": _time(work for work in inside if work.kind == "copies" and _converts(work)),
        "float32_products": _time(work for work in inside if work.kind == "computing" and _float32_product(work)),
    }


def _capability(facts: Mapping[str, object]) -> float | None:
    major, minor = facts.get("compute_cap_major"), facts.get("compute_cap_minor")
    return float(f"{major}.{minor}") if isinstance(major, int) and isinstance(minor, int) else None


def _parts(owned: Iterable[Span], works: Sequence[Work], host: HostCalls) -> dict[str, float]:
    """Nanoseconds of each part."""
    found: dict[str, float] = {}
    before: Work | None = None
    starts = {}
    for work in reversed(works):
        starts[work.start] = work
    for span in owned:
        if span.owner is not None:
            part = _part(span)
            found[part] = found.get(part, 0.0) + span.end - span.start
            before = span.owner
            continue
        for cause, length in causes(span.start, span.end, before, starts.get(span.end), host):
            found[f"idle_{cause}"] = found.get(f"idle_{cause}", 0.0) + length
    return found


def _part(span: Span) -> str:
    """The part that a span with an owner belongs to; a short pause between two kernels of a CUDA graph hides none."""
    assert span.owner is not None
    pause = span.owner.kind == "graph" and not span.owner.whole and span.end - span.start <= SHORT
    return "idle_launches" if pause else PART_OF[span.owner.kind]


def _occurrences(owned: Iterable[Span], inside: Iterable[Work], late: Mapping[int, float]) -> list[Occurrence]:
    """Each communication that ran, with what it was exposed, hidden, and exposed while a peer had not begun."""
    found = {id(w): Occurrence(w, late.get(id(w), w.start)) for w in inside if w.kind == "communication"}
    for span in owned:
        exposed = span.owner is not None and span.owner.kind == "communication"
        work = span.owner if exposed else span.hidden
        if work is None:
            continue
        one = found.get(id(work)) or Occurrence(work, late.get(id(work), work.start))
        length = span.end - span.start
        if exposed:
            waiting = max(0.0, min(span.end, one.joined) - span.start)
            found[id(work)] = one._replace(exposed=one.exposed + length, waiting=one.waiting + waiting)
        else:
            found[id(work)] = one._replace(hidden=one.hidden + length)
    return list(found.values())


def _time(works: Iterable[Work]) -> float:
    return sum(work.end - work.start for work in works)


def _converts(work: Work) -> bool:
    does = work.instruction.does if work.instruction else {"convert"} if "convert" in work.op else set()
    return "convert" in does and not work.turns


def _float32_product(work: Work) -> bool:
    types = work.instruction.types if work.instruction else ()
    return work.product and bool(types) and set(types) <= {"f32"}


def _laid_out_anew(work: Work) -> bool:
    """Whether it transposes although the program did not write a transposition there: another layout was needed."""
    return work.turns and work.scope.rpartition("/")[2] != "transpose"


def _graphs(owned: Iterable[Span], inside: Sequence[Work], steps: int) -> Graphs:
    whole = [work for work in inside if work.whole]
    seen = [work for work in inside if work.kind == "graph" and not work.whole]
    kernels = sum(GRAPH in work.event.stats and work.kind != "graph" for work in inside)
    lasted = sum(
        s.end - s.start for s in owned if s.owner and (s.owner.kind == "graph" or GRAPH in s.owner.event.stats)
    )
    return Graphs((len(whole) + len(seen)) / steps, lasted * NS / steps, _time(whole) * NS / steps, kernels / steps)
