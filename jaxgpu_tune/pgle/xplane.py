"""What JAX's profiler saw (``*.xplane.pb``): the kernels of each instruction, and the programs that the trace holds.

JAX's own converter (``jax.experimental.profiler.get_profiled_instructions_proto``) names an instruction as it is
after scheduling, and may bind it to the fingerprint of its program; the scheduler looks up the names before, in the
program that is to be compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..measure.trace.events import Event
from ..measure.trace.hlo import HLO_MODULE
from ..measure.trace.trace_file import ENDINGS, programs_in, read_trace, trace_bytes
from ..measure.trace.xspace import planes_of
from ..proof.wire import Message
from ..values import EMPTY
from .profile_files import bad_profile
from .program import Program, program_of_proto
from .samples import Sample

__all__ = ["Seen", "is_trace", "read_xplane"]


class Seen(NamedTuple):
    """Of a file, or of all of a run: the kernels, and the programs by name; several of one name: the last."""

    samples: tuple[Sample, ...] = ()
    programs: Mapping[str, Program] = EMPTY

    def with_more(self, other: Seen) -> Seen:
        """What was seen in either, as of two ranks of one run."""
        return Seen((*self.samples, *other.samples), {**self.programs, **other.programs})


def is_trace(path: Path) -> bool:
    """Whether the name is one of a profiler's file."""
    return path.name.endswith(ENDINGS)


def read_xplane(path: Path) -> Seen:
    """Raises BadSetting that says why the trace cannot serve."""
    try:
        data = trace_bytes(path)
        trace = read_trace(data)
    except (OSError, ValueError) as wrong:
        raise bad_profile(f"{path} is no trace of JAX's profiler: {wrong}.") from None
    events = [event for plane in trace.gpus() for event in trace.on(plane)]
    samples = [sample for event in events if (sample := _sample(event, path)) is not None]
    if not samples:
        raise bad_profile(f"{path}: {_why_nothing(events, trace.gpus())}", _hint(events, trace.gpus()))
    programs = [program_of_proto(Message(one).raw(HLO_MODULE)) for one in programs_in(planes_of(data))]
    return Seen(tuple(samples), {program.name: program for program in programs})


def _sample(event: Event, path: Path) -> Sample | None:
    stats = event.stats
    instruction, module = stats.get("hlo_op"), stats.get("hlo_module")
    if not instruction or not module:
        return None
    place, scope = f"{path}:{event.plane}", stats.get("scope_range_id")
    execution = scope if isinstance(scope, int) else None
    return Sample(str(module), str(instruction), place, event.name, event.start_ns, event.duration_ns, execution)


def _why_nothing(events: list[Event], gpus: tuple[str, ...]) -> str:
    if not gpus:
        return "it has no plane of a GPU, so nothing ran on one while it was taken."
    if not events:
        return f"the {len(gpus)} planes of GPUs are empty: another tool held CUPTI, or nothing ran."
    return f"none of {len(events)} kernels names an instruction (hlo_op): they ran inside CUDA graphs."


def _hint(events: list[Event], gpus: tuple[str, ...]) -> str:
    if events:
        return "Take it with command buffers off: --xla_gpu_enable_command_buffer= (`pgle record --to` does)."
    if not gpus:
        return "Did JAX run on the CPU? See what it says when it starts."
    return "CUPTI serves one tool at a time: no Nsight Systems, no DCGM profiling, no second JAX profiler."
