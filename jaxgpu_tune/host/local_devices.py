"""Which of the GPUs that a process may see are its own, as ``jax.distributed.initialize(local_device_ids=…)`` takes them.

JAX numbers the GPUs that CUDA_VISIBLE_DEVICES leaves, from 0 (semantics 2.4): never the numbers in that variable.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Processes

__all__ = ["LOCAL_IDS", "own_devices"]

LOCAL_IDS = "JAX_LOCAL_DEVICE_IDS"
ON_NODE, PER_TASK = "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK"
Environ = Mapping[str, str]


def own_devices(processes: Processes, visible: int | None, environ: Environ) -> tuple[int, ...] | None:
    """This process's own GPUs among the ``visible``; None where no launcher tells, or what it tells leaves it open.

    What JAX_LOCAL_DEVICE_IDS says holds. Otherwise the processes of a host either have GPUs of their own each
    (srun --gpus-per-task) or all see the same, which they share out in equal parts (R83).
    """
    said = _said(environ.get(LOCAL_IDS, ""))
    if said or not visible or processes.launcher is None:
        return said
    if visible == 1 or processes.local_count == 1 or _apart(processes, visible, environ):
        return tuple(range(visible))
    return _share(processes, visible, environ)


def _said(text: str) -> tuple[int, ...] | None:
    """As jax reads the variable; None where it raises, or no GPU can have such a number."""
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        return None
    return numbers if min(numbers) >= 0 else None


def _apart(processes: Processes, visible: int, environ: Environ) -> bool:
    """Whether SLURM gave each task GPUs of its own: as many as each is to get, or fewer than the step has on this node.

    What a task is to get says nothing of processes that another launcher started within one task.
    """
    on_node, per_task = environ.get(ON_NODE, ""), environ.get(PER_TASK, "").rpartition(":")[2]
    if processes.launcher == "slurm" and per_task == str(visible):
        return True
    return on_node.isascii() and on_node.isdigit() and visible < int(on_node)


def _share(processes: Processes, visible: int, environ: Environ) -> tuple[int, ...] | None:
    rank, count = processes.local_rank, processes.local_count
    if rank is None or count is None:
        return None
    if count > visible:
        return (rank % visible,) if environ.get(ON_NODE) == str(visible) else None
    each = visible // count
    return tuple(range(rank * each, rank * each + each)) if visible == each * count else None
