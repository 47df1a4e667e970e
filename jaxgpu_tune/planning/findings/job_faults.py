"""What goes wrong between the processes of a job, and on the GPUs that they share, whatever the preset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...knowledge.families import launchers
from ...knowledge.versions import matches
from ...model import Finding, Machine, Observation, Processes, Severity
from ...wording import count_of
from ..request import Request
from ..settings.setting_names import VISIBLE

__all__ = ["check_layout"]

LOCAL_IDS = "JAX_LOCAL_DEVICE_IDS"
LOCAL_IDS_SINCE = "0.4.33"
"""Read off the wheels: jax 0.4.31 does not have it, and 0.4.32 was withdrawn."""
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
"""Where these are set, jax.distributed.initialize() takes the GPU of the number SLURM_LOCALID (jax/_src/clusters)."""
OPEN_MPI, OPEN_MPI_RANK = "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_LOCAL_RANK"
"""Open MPI up to 4, which tells its own address; jax knows newer ones from 0.11.2 on, through mpi4py."""
OPEN_MPI_5_SINCE = "0.11.2"
SHARING = ("openmpi", "pmi", "torchrun")
"""Launchers that hide no GPU from a process by themselves."""
ONE_USER = ("exclusive_process", "exclusive_thread")


def check_layout(observation: Observation, request: Request) -> Iterator[Finding]:
    """Findings about local device ids, GPUs that several processes share, and a number of processes nobody tells."""
    machine = observation.machine
    asked = {s.name: s.value for s in request.asked if s.kind == "env" and s.value is not None}
    environ = {**observation.environ, **asked}
    if environ.get(LOCAL_IDS):
        yield from _said(environ[LOCAL_IDS], machine)
    elif request.platform != "cpu":
        yield from _automatic(machine, environ)
    per_gpu = _per_gpu(machine, environ, request)
    yield from _one_user(machine, per_gpu)
    if per_gpu > 1 and not (request.processes_per_gpu or request.memory_fraction):
        yield from _unshared(per_gpu, machine, environ)
    yield from _uncounted(machine.processes, observation.environ, request)


def _said(text: str, machine: Machine) -> Iterator[Finding]:
    """JAX_LOCAL_DEVICE_IDS as jax reads it: whole numbers joined by commas."""
    visible = None if machine.gpus is None else len(machine.gpus)
    allowed = "" if not visible else f" Allowed here: {_csv(range(visible))}."
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        message = f"{LOCAL_IDS}={text!r} is no list of whole numbers: jax.distributed.initialize() raises ValueError."
        yield Finding("bad-local-device-ids", "error", message, f"Numbers joined by commas, not 'all'.{allowed}")
        return
    beyond = [n for n in numbers if n < 0 or (visible and n >= visible)]
    if beyond:
        message = f"{LOCAL_IDS}={text} names GPU {_csv(beyond)}, but this process may see {visible}, counted from 0."
        hint = f"JAX counts what CUDA_VISIBLE_DEVICES leaves, not that variable's own numbers.{allowed}"
        yield Finding("bad-local-device-ids", "error", message, hint)
    if machine.jax and not _reads_local_ids(machine.jax):
        message = (
            f"{LOCAL_IDS}={text} has no effect: jax reads it from {LOCAL_IDS_SINCE} on, and this is {machine.jax}."
        )
        yield Finding("local-device-ids-unread", "warning", message, f"Pass local_device_ids={numbers} instead.")


def _automatic(machine: Machine, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What jax.distributed.initialize() without local_device_ids would take, where that is not what is this process's own."""
    taken, own = _taken(environ, machine.jax), machine.processes.local_device_ids
    if taken is None or own is None or own == (taken,) or not machine.gpus:
        return
    message = f"jax.distributed.initialize() would give this process GPU {taken} alone, by its number on this host, "
    if taken < len(machine.gpus):
        message += f"where {_csv(own)} {'are' if len(own) > 1 else 'is'} its own."
    else:
        message += f"but it may see only {len(machine.gpus)}, counted from 0: JAX would not start on the GPU."
    variable = f", or set {LOCAL_IDS}={_csv(own)}" if machine.jax and _reads_local_ids(machine.jax) else ""
    advice = "; or start one process for each GPU, which JAX expects" if len(own) > 1 else ""
    severity: Severity = "note" if machine.processes.count == 1 else "warning"  # a process alone need not initialize
    yield Finding("local-devices", severity, message, f"Pass local_device_ids={list(own)}{variable}{advice}.")


def _taken(environ: Mapping[str, str], jax: str | None) -> int | None:
    """The one GPU that jax's own cluster detection settles on, or None where it leaves all."""
    mpi = OPEN_MPI in environ or (jax is not None and matches(f">={OPEN_MPI_5_SINCE}", jax))
    slurm = all(name in environ for name in SLURM)
    name = OPEN_MPI_RANK if mpi and OPEN_MPI_RANK in environ else "SLURM_LOCALID" if slurm else ""
    return count_of(environ.get(name, ""))


def _per_gpu(machine: Machine, environ: Mapping[str, str], request: Request) -> int:
    """How many processes use each GPU, as said, or where all of a host see all of its GPUs, and are more."""
    visible, tasks = len(machine.gpus or ()), machine.processes.local_count or 1
    whole = environ.get("SLURM_GPUS_ON_NODE") == str(visible)
    whole |= machine.processes.launcher in SHARING and VISIBLE not in environ
    shared = visible and whole and "SLURM_GPUS_PER_TASK" not in environ
    return request.processes_per_gpu or (-(-tasks // visible) if shared else 1)


def _unshared(per_gpu: int, machine: Machine, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Each process reserves its share when it starts, so that the last has too little."""
    from .pool_faults import pool_in

    share = pool_in(environ, machine.jaxlib).share
    if share * per_gpu > 1:
        message = f"{per_gpu} processes are to use each GPU, and each would reserve {100 * share:.4g} % of its memory."
        hint = f"Pass processes_per_gpu={per_gpu} or preallocate=False to configure()."
        yield Finding("gpu-shared", "warning", message, hint)


def _one_user(machine: Machine, per_gpu: int) -> Iterator[Finding]:
    """The first process has the GPU, the others do not see it."""
    for gpu in machine.gpus or ():
        name = f"GPU {gpu.index} ({gpu.name or 'unknown'})"
        if gpu.compute_mode == "prohibited":
            message = f"{name} is in compute mode prohibited: no process can use it."
            yield Finding("gpu-prohibited", "error", message, "An administrator changes it: nvidia-smi -c DEFAULT.")
        elif gpu.compute_mode in ONE_USER and per_gpu > 1:
            message = f"{name} is in compute mode {gpu.compute_mode}, and {per_gpu} processes are to use it: the first has it alone, and JAX in the others runs on the CPU or does not start."
            hint = "Start one process for each GPU, run NVIDIA's MPS, or have it changed: nvidia-smi -c DEFAULT."
            yield Finding("gpu-exclusive", "warning", message, hint)


def _uncounted(processes: Processes, environ: Mapping[str, str], request: Request) -> Iterator[Finding]:
    if processes.launcher is None or processes.count or request.devices is not None:
        return
    told = launchers().get(processes.launcher)
    ranks, counts = (
        [f"{n}={environ[n]}" for n in names if environ.get(n)]
        for names in ((told.rank, told.count) if told else ((), ()))
    )
    hint = "Pass devices=, the number of GPUs of the whole job, or set JAX_NUM_PROCESSES."
    if counts:
        message = (
            f"{', '.join([*ranks, *counts])}: a rank is a whole number from 0 to one less than the number of processes"
        )
        hint = "Correct them, or pass devices=, the number of GPUs of the whole job."
    else:
        teller = "the environment" if processes.launcher == "variables" else processes.launcher
        message = f"{teller} does not tell how many processes the job has"
    yield Finding("processes-unknown", "warning", f"{message}: what depends on it counts as not met.", hint)


def _reads_local_ids(jax: str) -> bool:
    return matches(f">={LOCAL_IDS_SINCE}", jax)


def _csv(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
