"""What is wrong with the GPU memory pool as it will be, whoever set it, and with the GPU that it is taken from. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...knowledge import pool as known
from ...model import Finding, Gpu, Machine, Observation
from ...values import Value
from ..base.conditions import Facts
from ..base.wish import Wish
from ..fraction import strangers
from ..in_force import is_on
from ..request import Request
from ..settings.from_arguments import CUDA_GRAPHS_FLAG
from ..settings.pool_variables import (
    ALLOCATOR,
    COLLECTIVE_POOL,
    FRACTION_NAMES,
    MEANS_FALSE,
    PREALLOCATE,
    UNIFIED,
    has_unified_memory,
)
from .unified import check_unified

__all__ = ["Pool", "check_gpus", "check_pool", "check_surroundings", "installed_neighbours", "pool_in"]

MIB, GIB = 2**20, 2**30
MOST = 2**60
POOL_STEP_MIB = 512
"""XLA advises sizes of the second pool that are multiples of it."""
CPU_SAYS = {"jax_platforms": "", "jax_platform_name": ", and starts them all the same"}


class Pool(Value):
    """The pool that a program will have. ``fraction``: of each GPU's total memory; ``stated``: the variables that say so.

    ``per_array``: there is no pool, each array is asked of the driver; ``collective_mib``: the second pool, 0 where there is none.
    """

    stated: Mapping[str, str]
    fraction: float
    preallocates: bool
    allocator: str
    per_array: bool
    collective_mib: int
    unified: bool

    @property
    def share(self) -> float:
        """What is taken of each GPU when the backend starts, as a fraction of its total memory."""
        return 0.0 if self.per_array or self.unified or not self.preallocates else self.fraction


def pool_in(environ: Mapping[str, str], jaxlib: str | None) -> Pool:
    """The pool that these variables give; a value that no reader takes counts as not set."""
    watched = (*FRACTION_NAMES, PREALLOCATE, ALLOCATOR, COLLECTIVE_POOL, UNIFIED)
    stated = {name: environ[name] for name in watched if environ.get(name)}
    allocator = stated.get(ALLOCATOR, "default").lower()
    unified = has_unified_memory(stated)
    per_array = allocator in ("platform", "address") and not known.differs("platform_is_pool", jaxlib)
    fraction = next((_number(stated[name]) for name in FRACTION_NAMES if name in stated), 0.0)
    readable = fraction if unified or fraction <= 1 else 0.0
    return Pool(
        stated=stated,
        fraction=readable or known.default_fraction(),
        preallocates=stated.get(PREALLOCATE) not in MEANS_FALSE,
        allocator=allocator,
        per_array=per_array,
        collective_mib=int(_number(stated.get(COLLECTIVE_POOL, "0"))),
        unified=unified,
    )


def check_pool(wishes: Iterable[Wish], machine: Machine, facts: Facts) -> Iterator[Finding]:
    """Findings about the memory settings in force."""
    in_force = {(w.kind, w.name): str(w.value) for w in wishes if w.value is not None}
    environ = {name: value for (kind, name), value in in_force.items() if kind == "env"}
    pool = pool_in(environ, machine.jaxlib)
    flags = {name: value for (kind, name), value in in_force.items() if kind == "xla_flag"}
    yield from _high_fraction(pool, machine)
    yield from _idle(pool, machine)
    yield from _graphs(pool, machine, flags)
    yield from _registered(pool, flags, facts)
    yield from _collective_pool(pool, machine)
    yield from _old_release(pool, machine)
    yield from check_unified(environ, machine)


def check_surroundings(wishes: Iterable[Wish], observation: Observation, request: Request) -> Iterator[Finding]:
    """Findings about the GPUs and the process that the pool is for."""
    all_wishes = tuple(wishes)
    in_force = {w.name: str(w.value) for w in all_wishes if w.value is not None}
    yield from (
        _on_cpu(w.name) for w in all_wishes if w.name in CPU_SAYS and w.value == "cpu" and w.origin == "existing"
    )
    if in_force.get("jax_platforms") == "cpu":
        return
    machine = observation.machine
    pool = pool_in(in_force, machine.jaxlib)
    yield from check_gpus(pool, machine, request.processes_per_gpu or 1)
    if machine.gpus:
        yield from _neighbours(pool, observation)


def _on_cpu(option: str) -> Finding:
    """R52: inherited, it may be news to whoever asks for a preset for GPUs."""
    message = f"{option.upper()}=cpu is set already: JAX computes on the CPU although GPUs are here{CPU_SAYS[option]}."
    return Finding("platform-is-cpu", "note", message, "Unset it to use the GPUs; JAX_PLATFORMS=cpu leaves them alone.")


ROOM = 'preallocate=False or memory_fraction="auto" (at most half, then) leaves it room'


def check_gpus(pool: Pool, machine: Machine, processes_per_gpu: int = 1) -> Iterator[Finding]:
    """Findings about the GPUs that the pool is to be taken from: held by others, the host's own memory, WSL2, a vGPU."""
    gpus = machine.gpus or ()
    yield from _twins(gpus)
    if machine.phase != "started":
        own = _own(machine)
        yield from _full(own)
        yield from _occupied(pool, own)
    yield from _integrated(pool, gpus, processes_per_gpu)
    if machine.wsl and gpus and known.differs("wsl_handles", machine.jaxlib) and pool.allocator in ("default", "bfc"):
        message = f"This is WSL2, where the memory pool of jaxlib {machine.jaxlib} cannot hand out an array of more than about 4 GiB, or fails at the first one: it asks for handles that can be exported, which WSL2 bounds (openxla/xla#48979)."
        yield Finding("wsl-memory", "warning", message, 'Pass allocator="cuda_async".')
    if any(gpu.vgpu for gpu in gpus) and known.differs("needs_vmm", machine.jaxlib):
        message = f"The GPU is a vGPU, a share that a hypervisor hands out; without virtual memory management, which such shares may lack, jaxlib {machine.jaxlib} cannot start its backend (openxla/xla#49252)."
        yield Finding(
            "vgpu-memory", "warning", message, "No setting helps: pip install 'jaxlib<=0.10.0' with its jax and plugin."
        )


def _twins(gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """GPUs that give one UUID, as some virtual machines make them."""
    by_uuid: dict[str, list[int]] = {}
    for gpu in gpus:
        by_uuid.setdefault(gpu.uuid or "", []).append(gpu.index)
    for uuid, numbers in by_uuid.items():
        if uuid and len(numbers) > 1:
            message = f"GPU {_csv(numbers)} give one UUID ({uuid}): CUDA_VISIBLE_DEVICES cannot name one of them by it."
            yield Finding("gpus-with-one-uuid", "warning", message, "Name them by their numbers there.")


def _neighbours(pool: Pool, observation: Observation) -> Iterator[Finding]:
    """Other libraries that need GPU memory in this process (R41, R42): a warning where they use the GPU, else a note."""
    if pool.share <= known.most("neighbours"):
        return
    for one in strangers(observation):
        uses = not one.used_by or one.used_by in observation.modules
        message = f"{one.name} is imported here and {one.does}; {_taken(pool)}."
        yield Finding("gpu-neighbour", "warning" if uses else "note", message, f"{ROOM}; {one.advice}.")


def installed_neighbours(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """Libraries that would need GPU memory beside JAX, were they imported: for who asks what is here, not for each plan."""
    if pool.share <= known.most("neighbours"):
        return
    for one in known.neighbours():
        if any(name in (machine.libraries or {}) for name in one.distributions):
            message = f"{one.name} is installed beside JAX and {one.does}; {_taken(pool)}."
            yield Finding("gpu-neighbour", "note", message, f"Where both use a GPU, {ROOM}; {one.advice}.")


def _taken(pool: Pool) -> str:
    return f"JAX is to take {pool.share:.0%} of each GPU when it starts"


def _high_fraction(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """R31, R47; and R43: what is left is to be a size, not a share."""
    stated = any(name in pool.stated for name in FRACTION_NAMES)
    if pool.per_array or pool.unified or not stated:
        return
    totals = [gpu.memory_bytes for gpu in machine.gpus or () if gpu.memory_bytes]
    left = min(totals) * (1 - pool.fraction) if totals else float("inf")
    if pool.fraction > known.most("advised") or left < known.left_bytes("libraries"):
        rest = f", which leaves {max(left, 0) / GIB:.2g} GiB" if totals else ""
        message = f"JAX may take {pool.fraction:.4g} of the GPU's memory ({_stated_fraction(pool)}){rest}: the CUDA context, cuBLAS, cuDNN and NCCL need room beside it, and fail without."
        hint = f'Stay at or below {known.most("advised"):g} and leave 1 to 2 GiB; "auto" computes it.'
        yield Finding("memory-fraction-high", "warning", message, hint)


def _idle(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """R37: which of the three is in force."""
    others = [f"{name}={pool.stated[name]}" for name in (PREALLOCATE, *FRACTION_NAMES) if name in pool.stated]
    shown = f"{ALLOCATOR}={pool.stated.get(ALLOCATOR)}"
    if pool.per_array and others:
        message = f"{shown} alone is in force: each array is asked of the driver, so there is no pool, and {' and '.join(others)} {_mean(others)} nothing."
    elif pool.allocator == "platform" and not pool.per_array:
        heeded = f", for which {' and '.join(others)} {_count(others)}" if others else ", and fills it as by default"
        message = f"{shown} is not in force: jaxlib {machine.jaxlib} makes a pool all the same{heeded}."
    else:
        return
    yield Finding(
        "memory-settings-idle",
        "warning",
        message,
        f"Leave {ALLOCATOR} out: to share a GPU, {PREALLOCATE}=false is enough.",
    )


def _graphs(pool: Pool, machine: Machine, flags: Mapping[str, str]) -> Iterator[Finding]:
    """R40."""
    if pool.per_array and known.differs("platform_graphs", machine.jaxlib) and not _without_graphs(flags):
        message = f"{ALLOCATOR}={pool.stated[ALLOCATOR]} with CUDA graphs, which are on, ended programs of jaxlib {machine.jaxlib} with a segmentation fault (jax-ml/jax#18663)."
        yield Finding("platform-with-graphs", "warning", message, 'Pass allocator="cuda_async", or cuda_graphs=False.')


def _without_graphs(flags: Mapping[str, str]) -> bool:
    return flags.get(CUDA_GRAPHS_FLAG) == "" or flags.get("xla_gpu_graph_level") == "0"


def _registered(pool: Pool, flags: Mapping[str, str], facts: Facts) -> Iterator[Finding]:
    """R44: what is registered with NCCL lies in a pool of its own."""
    causes = [f"--{name}" for name in known.registering_flags() if is_on(flags.get(name))]
    causes += [f"{COLLECTIVE_POOL}={pool.collective_mib}"] if pool.collective_mib else []
    if not causes or facts.devices == 1 or pool.per_array or pool.fraction < known.most("with_registered_buffers"):
        return
    message = f"{' and '.join(causes)}: NCCL's registered buffers, and its own, lie beside the fraction of {pool.fraction:.4g} ({_stated_fraction(pool)})."
    hint = f"Lower memory_fraction to {known.most('registered_buffers'):g} or less."
    yield Finding("registered-buffers-outside", "warning", message, hint)


def _collective_pool(pool: Pool, machine: Machine) -> Iterator[Finding]:
    if not pool.collective_mib:
        return
    if pool.collective_mib % POOL_STEP_MIB:
        message = f"{COLLECTIVE_POOL}={pool.collective_mib} is no multiple of {POOL_STEP_MIB}, in which XLA takes it."
        yield Finding(
            "collective-pool-size", "note", message, f"Say {-(-pool.collective_mib // POOL_STEP_MIB) * POOL_STEP_MIB}."
        )
    totals = [gpu.memory_bytes for gpu in machine.gpus or () if gpu.memory_bytes]
    inside = known.differs("one_pool", machine.jaxlib) and pool.preallocates
    room = min(totals, default=0) * (1 - (0 if inside else pool.share))
    if totals and pool.collective_mib * MIB > room:
        beside = "" if inside or not pool.share else f" beside the fraction of {pool.share:.4g}"
        message = f"{COLLECTIVE_POOL}={pool.collective_mib} does not fit into {min(totals) / GIB:.4g} GiB{beside}: JAX runs out of memory when it starts."
        yield Finding("collective-pool-size", "warning", message, "Lower it, or memory_fraction.")


def _old_release(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """R34."""
    if known.differs("free_memory", machine.jaxlib) and any(name in pool.stated for name in FRACTION_NAMES):
        message = f"jaxlib {machine.jaxlib} takes the fraction of the memory that is free when it starts: of several processes each gets less than the one before (jax-ml/jax#4310)."
        yield Finding("fraction-of-free-memory", "warning", message, "Update jaxlib to 0.4.0 or newer.")


def _own(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs that this process will use itself: on the others its fellows may hold their memory already."""
    ids, fellows = machine.processes.local_device_ids, (machine.processes.local_count or 1) > 1
    if ids is None and fellows:
        return ()
    return tuple(gpu for gpu in machine.gpus or () if ids is None or gpu.index in ids)


def _full(gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    full = [gpu.index for gpu in gpus if _is_full(gpu)]
    if full:
        message = f"GPU {_csv(full)} has less than 1 GiB of free memory: JAX cannot start there."
        yield Finding("gpu-full", "error", message, "See nvidia-smi for the processes that hold it.")


def _occupied(pool: Pool, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """A share of the whole memory is taken, whatever is free."""
    short = [
        (gpu.index, gpu.free_bytes / gpu.memory_bytes)
        for gpu in gpus
        if gpu.memory_bytes and gpu.free_bytes is not None and not _is_full(gpu)
        if gpu.free_bytes < pool.share * gpu.memory_bytes
    ]
    if short:
        free = min(part for _, part in short)
        message = f"GPU {_csv([index for index, _ in short])} has {free:.0%} of its memory free, less than the share of {pool.share:g} that JAX takes at the start: others use it."
        fits = f"memory_fraction={int(free * 95) / 100:g} fits at the moment, as does"
        hint = f"See nvidia-smi for the processes that hold it; {fits} preallocate=False, --no-preallocate."
        yield Finding("gpu-occupied", "warning", message, hint)


def _is_full(gpu: Gpu) -> bool:
    return bool(gpu.memory_bytes) and gpu.free_bytes is not None and gpu.free_bytes < known.left_bytes("full")


def _integrated(pool: Pool, gpus: tuple[Gpu, ...], processes_per_gpu: int) -> Iterator[Finding]:
    """R45."""
    own = [gpu.name or "the GPU" for gpu in gpus if known.is_integrated(gpu.compute_capability)]
    share = pool.share * processes_per_gpu
    if own and share > known.most("integrated"):
        message = f"{own[0]} has no memory of its own: the {share:.0%} that JAX takes when it starts are taken from the host's programs (marin-community/marin#2142)."
        yield Finding(
            "host-memory-taken", "warning", message, 'Pass memory_fraction="auto" (half), or preallocate=False.'
        )


def _stated_fraction(pool: Pool) -> str:
    return next((f"{name}={pool.stated[name]}" for name in FRACTION_NAMES if name in pool.stated), "the default")


def _number(text: str) -> float:
    """0 for what is no number that could be meant."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < MOST else 0.0


def _mean(names: list[str]) -> str:
    return "mean" if len(names) > 1 else "means"


def _count(names: list[str]) -> str:
    return "count" if len(names) > 1 else "counts"


def _csv(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
