"""The values of a profile: what was seen of each process, and where a step goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..knowledge.advice import Advice
from ..values import EMPTY, Value, jsonable
from .timeline import Timeline
from .trace.buffer_plan import BufferPlan
from .trace.collectives import Collective
from .trace.kernels import Kernel
from .trace.reduction import GpuStep, Reduction

__all__ = ["SKEW", "HostTimes", "Profile", "Rank", "Watched"]

SKEW = 0.03
"""So large a share of a step must ranks differ in work of their own for the slowest to be named."""


class HostTimes(Value):
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
    host: HostTimes = HostTimes()
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
    parts: Mapping[str, float] = EMPTY


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
    parts: Mapping[str, float] = EMPTY
    ranges: Mapping[str, tuple[float, float]] = EMPTY
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
    host: HostTimes = HostTimes()
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    memory: BufferPlan | None = None
    device: str = ""
    jax: str = ""
    unnamed_ms: float | None = None
    measures: Mapping[str, float | None] = EMPTY
    notes: tuple[str, ...] = ()
    timeline: Timeline = Timeline()

    @property
    def tracer_cost(self) -> float | None:
        """By how much the tracer slowed the step, as a share of it; None: not known."""
        return self.traced_ms / self.step_ms - 1 if self.traced_ms and self.step_ms and self.gpus else None

    @property
    def slow_gpu(self) -> str | None:
        """Of the GPUs of this process the one that the others wait for; None: they differ little."""
        own = sorted((gpu.own_ms, gpu.gpu) for gpu in self.gpus)
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
