"""What is wrong with the GPUs that the memory pool is to be taken from, and who else needs their memory. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge import pool as known
from ...model import Finding, Gpu, Machine, Observation
from ..fraction import strangers
from ..in_force import Settled
from ..request import Request
from .pool_faults import Pool, pool_in

__all__ = ["check_gpus", "check_surroundings", "installed_neighbours"]

ROOM = 'preallocate=False or memory_fraction="auto" (at most half, then) leaves it room'
CPU_SAYS = {"jax_platforms": "", "jax_platform_name": ", and starts them all the same"}


def check_surroundings(found: Settled, observation: Observation, request: Request) -> Iterator[Finding]:
    """Findings about the GPUs, of which there are some, and the process that the pool is for."""
    inherited = [name for name in found.options if name in CPU_SAYS and name in found.inherited]
    yield from (_on_cpu(name) for name in inherited if found.options[name] == "cpu")
    if found.options.get("jax_platforms") == "cpu":
        return
    machine = observation.machine
    pool = pool_in(found.variables, machine.jaxlib)
    yield from check_gpus(pool, machine, request.processes_per_gpu or 1)
    yield from _neighbours(pool, observation)


def _on_cpu(option: str) -> Finding:
    """Inherited, it may be news to whoever asks for a preset for GPUs."""
    message = f"{option.upper()}=cpu is set already: JAX computes on the CPU although GPUs are here{CPU_SAYS[option]}."
    return Finding("platform-is-cpu", "note", message, "Unset it to use the GPUs; JAX_PLATFORMS=cpu leaves them alone.")


def _neighbours(pool: Pool, observation: Observation) -> Iterator[Finding]:
    """Other libraries that need GPU memory in this process: a warning where they use the GPU, else a note."""
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
        yield Finding("wsl-memory", "warning", message, "Set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async.")
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
    """A share of the whole memory is taken, whatever is free. Of an idle GPU the driver holds some: a share that is too high for it is another fault."""
    share = min(pool.share, known.most("advised"))
    short = [
        (gpu.index, gpu.free_bytes / gpu.memory_bytes)
        for gpu in gpus
        if gpu.memory_bytes and gpu.free_bytes is not None and not _is_full(gpu)
        if gpu.free_bytes < share * gpu.memory_bytes
    ]
    if short:
        free = min(part for _, part in short)
        message = f"GPU {_csv([index for index, _ in short])} has {free:.0%} of its memory free, less than the {100 * pool.share:.4g}% that JAX takes at the start: others use it."
        fits = f"memory_fraction={int(free * 95) / 100:g} fits at the moment, as does"
        hint = f"See nvidia-smi for the processes that hold it; {fits} preallocate=False, --no-preallocate."
        yield Finding("gpu-occupied", "warning", message, hint)


def _is_full(gpu: Gpu) -> bool:
    return bool(gpu.memory_bytes) and gpu.free_bytes is not None and gpu.free_bytes < known.left_bytes("full")


def _integrated(pool: Pool, gpus: tuple[Gpu, ...], processes_per_gpu: int) -> Iterator[Finding]:
    """A GPU that shares the memory of the host."""
    own = [gpu.name or "the GPU" for gpu in gpus if known.is_integrated(gpu.compute_capability)]
    share = pool.share * processes_per_gpu
    if own and share > known.most("integrated"):
        message = f"{own[0]} has no memory of its own: the {share:.0%} that JAX takes when it starts are taken from the host's programs (marin-community/marin#2142)."
        yield Finding(
            "host-memory-taken",
            "warning",
            message,
            'Pass memory_fraction="auto" (half) or preallocate=False to configure().',
        )


def _csv(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
