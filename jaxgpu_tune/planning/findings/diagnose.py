"""Why JAX would be slow, on the CPU, or about to die here: what no setting of a plan can cure. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...model import Finding, Machine
from ...values import Value
from ...wording import by_severity
from ..settings.platforms import OPTIONS, names_of, outcome_without_gpu
from ..settings.setting_names import DATA_DIR, PLATFORMS_OPTION, VISIBLE
from .compiler import from_wheels, ptxas_of_path
from .gpu_faults import check_gpus, installed_neighbours
from .pool_faults import pool_in
from .unfit_installs import misfits, shadowed

__all__ = ["Started", "Surroundings", "diagnose", "graver"]

LEAST_SHARED_MEMORY_BYTES = 512 * 2**20
"""Docker gives 64 MiB, in which NCCL cannot join several GPUs (NVIDIA/nccl#290)."""
USUAL_CUDA = "/usr/local/cuda"
GRAVE = frozenset(
    {
        "cuda-library-too-new",
        "no-jaxlib",
        "jit-disabled",
        "launch-blocking",
        "platform-allocator",
        "gpu-exclusive",
        "gpu-prohibited",
        "platform-repaired",
    }
)
"""Findings of a plan that explain by themselves why JAX is slow or not on the GPU."""


class Surroundings(Value):
    """What lies around JAX. ``cuda_folders``: those of LD_LIBRARY_PATH that hold CUDA, other than pip's own.

    ``compiler_folder``: the CUDA below CUDA_HOME or CONDA_PREFIX that has what XLA compiles with (nvvm/libdevice).
    ``ptxas_folder``: the first of PATH that holds CUDA's compiler.
    """

    device_nodes: bool
    shared_memory_bytes: int | None = None
    cuda_folders: tuple[str, ...] = ()
    compiler_folder: str | None = None
    ptxas_folder: str | None = None


class Started(Value):
    """How a trial start of JAX went; ``said``: the last lines of its stderr."""

    seconds: float
    platform: str | None = None
    devices: int = 0
    status: int = 0
    said: str = ""
    timed_out: bool = False


def diagnose(
    machine: Machine, environ: Mapping[str, str], around: Surroundings | None, started: Started | None = None
) -> Iterator[Finding]:
    """The findings, errors first. ``around`` None: the machine is described by a file, so this host says nothing of it."""
    wants_cpu = any(names_of(environ.get(option.upper(), "")) == ("cpu",) for option in OPTIONS)
    found = [
        *_start(started, bool(machine.gpus)),
        *_gpus(machine, environ, around, wants_cpu),
        *misfits(machine, for_cpu=wants_cpu),
        *check_gpus(pool_in(environ, machine.jaxlib), machine),
        *installed_neighbours(pool_in(environ, machine.jaxlib), machine),
        *_around(machine, around),
        *_compiler(machine, environ, around),
    ]
    yield from by_severity(found)


def graver(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings of a plan; those that explain it all count as errors."""
    yield from (f._replace(severity="error") if f.code in GRAVE else f for f in findings)


def _start(started: Started | None, has_gpu: bool) -> Iterator[Finding]:
    if started is None:
        return
    if started.timed_out:
        message = f"JAX did not start within {started.seconds:g} s."
        yield Finding(
            "start-hangs", "error", message, "A coordinator that is awaited, or a GPU that hangs: see nvidia-smi."
        )
    elif started.platform is None:
        end = f"signal {-started.status}" if started.status < 0 else f"exit code {started.status}"
        yield Finding("start-fails", "error", f"JAX does not start ({end}); its last words: {started.said or '(none)'}")
    elif started.platform == "cpu" and has_gpu:
        message = f"JAX starts on the CPU although GPUs are here; its last words: {started.said or '(none)'}"
        yield Finding("starts-on-cpu", "error", message, "The other findings may say why.")


def _gpus(
    machine: Machine, environ: Mapping[str, str], around: Surroundings | None, wants_cpu: bool
) -> Iterator[Finding]:
    if wants_cpu:
        severity, hint = ("error", "Unset it, or write cuda,cpu.") if machine.gpus else ("note", "")
        message = "JAX_PLATFORMS (or JAX_PLATFORM_NAME) is cpu: JAX runs on the CPU."
        yield Finding("platform-is-cpu", severity, message, hint)  # type: ignore[arg-type]
    elif machine.gpus is None and (around is None or around.device_nodes):
        message = "An NVIDIA device is here, but NVML does not answer: which GPUs can be used is unknown."
        yield Finding(
            "driver-silent", "error", message, "Run nvidia-smi: after an update of the driver a restart is needed."
        )
    elif not machine.gpus:
        yield _no_gpu(machine, environ, around)


def _no_gpu(machine: Machine, environ: Mapping[str, str], around: Surroundings | None) -> Finding:
    visible, without = (
        environ.get(VISIBLE),
        outcome_without_gpu(names_of(environ.get(PLATFORMS_OPTION.upper(), "")), machine),
    )
    if visible is not None and (around is None or around.device_nodes):
        message = f"CUDA_VISIBLE_DEVICES={visible!r} leaves no GPU to this process: {without}."
        return Finding("gpus-hidden", "error", message, "Unset it, or name GPUs that nvidia-smi -L lists.")
    message = f"No NVIDIA GPU can be seen here: {without}."
    return Finding("no-gpu", "error", message, "In a container: docker run --gpus all; on a cluster: ask for a GPU.")


def _around(machine: Machine, around: Surroundings | None) -> Iterator[Finding]:
    if around is None:
        return
    yield from shadowed(machine, around.cuda_folders)
    yield from ptxas_of_path(machine, around.ptxas_folder)
    size = around.shared_memory_bytes
    if size is not None and size < LEAST_SHARED_MEMORY_BYTES and len(machine.gpus or ()) > 1:
        count = len(machine.gpus or ())
        message = f"The shared memory (/dev/shm) has {size // 2**20} MiB, too little for NCCL to join {count} GPUs."
        yield Finding("small-shared-memory", "warning", message, "docker run --shm-size=1g (or --ipc=host).")


def _compiler(machine: Machine, environ: Mapping[str, str], around: Surroundings | None) -> Iterator[Finding]:
    """Where pip brought no CUDA, XLA finds one in /usr/local/cuda alone."""
    folder = around.compiler_folder if around else None
    if (
        folder is None
        or from_wheels(machine)
        or not machine.gpus
        or folder == USUAL_CUDA
        or DATA_DIR in environ.get("XLA_FLAGS", "")
    ):
        return
    message = f"CUDA's compiler is in {folder}, where XLA does not look by itself, and pip installed none."
    yield Finding("cuda-elsewhere", "note", message, f"XLA_FLAGS=--{DATA_DIR}={folder}")
