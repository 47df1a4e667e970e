"""The settings that a profile must be taken with, and what forbids taking one.

Nothing may run beside what is measured, so collectives are synchronous. The scheduler stays on, against NVIDIA's
page: with nothing asynchronous it overlaps nothing, and it leaves in the program the names that it looks up later.
With the scheduler off a collective is known only by its later name (``all-gather.4``), and none of them is found when
the profile is used (tried on jaxlib 0.12.0.1 with the GPU compiler: of an FSDP step all ten were missing;
https://github.com/NVIDIA/JAX-Toolbox/blob/main/docs/PGLE.md). In a CUDA graph kernels have no names, hence no
command buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..knowledge.families import acts
from ..model import Finding, Machine, Report

__all__ = ["RECORDING", "obstacles", "refusals", "without_gpu"]

SYNCHRONOUS = ("allreduce", "allgather", "reducescatter", "collectivebroadcast", "alltoall", "collectivepermute")
RECORDING = {
    "xla_gpu_disable_async_collectives": list(SYNCHRONOUS),
    "xla_gpu_enable_latency_hiding_scheduler": True,
    "xla_gpu_enable_command_buffer": "",
}
DAEMONS = ("nv-hostengine", "dcgm-exporter")
DONE = ("set", "kept", "default")


def refusals(report: Report, option: str) -> Iterator[Finding]:
    """Why JAX would not do what ``option`` of jax.config asks for, as the plan has it; nothing if it will."""
    for decision in (one for one in report.decisions if one.name == option):
        if decision.status not in DONE:
            message = f"{option} cannot be set: {decision.reason}."
            yield Finding("pgle-refused", "error", message, "`jaxgpu-tune pgle record --to FILE` needs no such option.")


def without_gpu(machine: Machine) -> Iterator[Finding]:
    """That there is nothing to be profiled, where that is known."""
    if machine.gpus == ():
        message = "There is no NVIDIA GPU here: PGLE times what runs on GPUs, so nothing will be recorded."
        yield Finding("pgle-no-gpu", "warning", message)


def obstacles(environ: Mapping[str, str], processes: Path = Path("/proc")) -> Iterator[Finding]:
    """What would leave a trace of JAX's profiler empty: CUPTI serves one tool at a time."""
    tools = sorted(name for name, value in environ.items() if value and acts(name, "profiles"))
    if tools:
        message = f"{tools[0]} tells of a tool that profiles this command already, and CUPTI serves one at a time."
        hint = "Record without it; or convert its own report: `nsys export --type sqlite`, then `jaxgpu-tune pgle convert`."
        yield Finding("pgle-refused", "error", message, hint)
    for name in sorted({name for name in _running(processes) if name in DAEMONS}):
        message = f"{name} runs on this host: where it collects profiling metrics of the GPUs, a trace may stay empty."
        yield Finding("pgle-other-profiler", "warning", message, "Pause it: dcgmi profile --pause.")


def _running(processes: Path) -> Iterator[str]:
    for file in processes.glob("[0-9]*/comm"):
        with suppress(OSError):  # it may have ended
            yield file.read_text(errors="replace").strip()
