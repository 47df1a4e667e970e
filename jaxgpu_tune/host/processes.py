"""This process's place in the job and its own GPUs, from the variables of launchers; what they leave open or contradict stays None."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..knowledge.families import Launcher, launchers
from ..model import Processes
from ..planning.findings.job_faults import LOCAL_IDS
from ..wording import count_of
from .phase import Joined

__all__ = ["find_processes", "own_devices"]

ON_NODE, PER_TASK = "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK"
Environ = Mapping[str, str]


LAUNCHERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # torchrun's workers inherit what started torchrun once a node: those variables speak of torchrun
    ("torchrun", ("LOCAL_RANK", "TORCHELASTIC_RUN_ID")),
    ("openmpi", ()),
    # Hydra, MPICH's and Intel MPI's, starts one proxy a node by srun: SLURM_PROCID is the proxy's
    ("pmi", ("MPI_LOCALRANKID",)),
    # inside a job step only: an sbatch or salloc shell is one process, though its variables speak of the job's
    ("slurm", ("SLURM_JOB_ID", "SLURM_STEP_NODELIST")),
    ("torchrun", ("LOCAL_RANK",)),
    ("pmi", ()),
    ("kubernetes", ("KUBERNETES_SERVICE_HOST",)),
    ("variables", ("JAX_NUM_PROCESSES",)),
)
"""Each launcher, and what must be set, beside one of its variables of rank, where it counts. Innermost first: what others start comes before them."""


def find_processes(environ: Environ, job: Joined | None = None) -> Processes:
    """The layout as the first launcher that is present tells it; an empty one where none is. ``job``: as JAX has it, which wins."""
    present = (name for name, needed in LAUNCHERS if _is_present(launchers()[name], needed, environ))
    name = next(present, None)
    found = Processes() if name is None else _told(environ, launchers()[name])
    return _checked(found if job is None else found._replace(rank=job.rank, count=job.count))


def _is_present(launcher: Launcher, needed: Iterable[str], environ: Environ) -> bool:
    return all(name in environ for name in needed) and any(name in environ for name in launcher.rank)


def _told(environ: Environ, launcher: Launcher) -> Processes:
    """As the launcher's variables say."""
    found = Processes(
        rank=_number(environ, *launcher.rank),
        local_rank=_number(environ, *launcher.local_rank),
        count=_number(environ, *launcher.count),
        local_count=_number(environ, *launcher.local_count),
        launcher=launcher.name,
    )
    if launcher.name == "slurm":
        return found._replace(local_count=_slurm_local_count(environ, found.count))
    if launcher.name == "kubernetes":  # an indexed job, one process a pod; it tells no process how many pods there are
        return found._replace(local_rank=0, local_count=1)
    return found


def _slurm_local_count(environ: Environ, count: int | None) -> int | None:
    """Of ``4(x2),2``: the tasks on this node, which SLURM_NODEID counts from 0."""
    layout = environ.get("SLURM_STEP_TASKS_PER_NODE") or environ.get("SLURM_TASKS_PER_NODE") or ""
    runs = [(int(tasks), int(nodes or 1)) for tasks, nodes in re.findall(r"(\d{1,6})(?:\(x(\d{1,6})\))?", layout)]
    node = _number(environ, "SLURM_NODEID")
    here = None if node is None else _tasks_on(node, runs)
    if here is not None:
        return here
    if len({tasks for tasks, _ in runs}) == 1:
        return runs[0][0]
    return _number(environ, "SLURM_NTASKS_PER_NODE") or (count if _number(environ, "SLURM_NNODES") == 1 else None)


def _tasks_on(node: int, runs: list[tuple[int, int]]) -> int | None:
    for tasks, nodes in runs:
        if node < nodes:
            return tasks
        node -= nodes
    return None


def _number(environ: Environ, *names: str) -> int | None:
    """The first of the variables that is there; None if it is no count."""
    text = next((environ[name] for name in names if environ.get(name)), "").strip()
    return count_of(text) if len(text) < 12 else None


def _checked(found: Processes) -> Processes:
    """A rank that is not below its count contradicts it: neither is known then."""
    wrong = found.rank is not None and found.count is not None and found.rank >= found.count
    locally = found.local_rank is not None and found.local_count is not None and found.local_rank >= found.local_count
    locally = locally or (found.count is not None and found.local_count is not None and found.local_count > found.count)
    if wrong:
        found = found._replace(rank=None, count=None)
    return found._replace(local_rank=None, local_count=None) if locally else found


def own_devices(processes: Processes, visible: int | None, environ: Environ) -> tuple[int, ...] | None:
    """This process's own GPUs among the ``visible``; None where no launcher tells, or what it tells leaves it open.

    As ``jax.distributed.initialize(local_device_ids=…)`` takes them: JAX numbers the GPUs that CUDA_VISIBLE_DEVICES leaves,
    from 0: never the numbers in that variable.

    What JAX_LOCAL_DEVICE_IDS says holds. Otherwise the processes of a host either have GPUs of their own each
    (srun --gpus-per-task) or all see the same, which they share out in equal parts.
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
    on_node, per_task = count_of(environ.get(ON_NODE, "")), environ.get(PER_TASK, "").rpartition(":")[2]
    if processes.launcher == "slurm" and per_task == str(visible):
        return True
    return on_node is not None and visible < on_node


def _share(processes: Processes, visible: int, environ: Environ) -> tuple[int, ...] | None:
    rank, count = processes.local_rank, processes.local_count
    if rank is None or count is None:
        return None
    if count > visible:
        return (rank % visible,) if environ.get(ON_NODE) == str(visible) else None
    each = visible // count
    return tuple(range(rank * each, rank * each + each)) if visible == each * count else None
