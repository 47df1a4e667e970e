"""What a machine is: its GPUs, what is installed, the processes of the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .values import Value, jsonable

__all__ = ["Gpu", "Machine", "Phase", "Processes"]

Phase = Literal["not-imported", "imported", "started"]


class Gpu(Value):
    """One GPU that this process may use. None: could not be learned. Memory in bytes.

    ``vgpu``: a share of a GPU that a hypervisor hands out; ``display``: a screen is attached and in use.
    ``compute_mode``: "default", or what forbids more than one process ("exclusive_process", "exclusive_thread") or any ("prohibited").
    """

    index: int
    uuid: str | None = None
    name: str | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None
    free_bytes: int | None = None
    mig: bool | None = None
    nvlink_peers: tuple[int, ...] | None = None
    compute_mode: str | None = None
    vgpu: bool | None = None
    display: bool | None = None


class Processes(Value):
    """The job's processes: this one's ``rank`` of ``count``, ``local_rank`` of ``local_count`` on this host.

    ``local_device_ids``: what to pass to ``jax.distributed.initialize(local_device_ids=…)``; they number this process's
    own GPUs among those that CUDA_VISIBLE_DEVICES leaves to it, from 0 (None: which are its own could not be learned).
    """

    rank: int | None = None
    local_rank: int | None = None
    count: int | None = None
    local_count: int | None = None
    launcher: str | None = None
    local_device_ids: tuple[int, ...] | None = None


class Machine(Value):
    """What was learned of this machine; None: could not be learned, and conditions on it count as unmet.

    ``gpus`` holds only those that this process may use, in CUDA's order; ``plugins`` maps the
    distributions (``jax-cuda12-pjrt``, …) to their versions; ``cuda_driver`` is the newest CUDA the
    driver serves ("13.0"); ``libraries`` what else is installed that matters (NVIDIA's wheels, other users of XLA and of the GPU); ``wsl``: Linux runs inside Windows (WSL2); ``nccl`` the version of the NCCL library that JAX would load.
    """

    gpus: tuple[Gpu, ...] | None = None
    driver: str | None = None
    cuda_driver: str | None = None
    nccl: str | None = None
    jax: str | None = None
    jaxlib: str | None = None
    plugins: Mapping[str, str] | None = None
    libraries: Mapping[str, str] | None = None
    wsl: bool | None = None
    phase: Phase | None = None
    processes: Processes = Processes()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; ``from_dict`` gives an equal Machine back."""
        return jsonable(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Machine:
        """Read ``to_dict``'s form or a hand-written one: a missing key is unknown; ``"count"`` in a GPU repeats it.

        Raises BadSetting naming every unknown key and every value of the wrong type.
        """
        from .machine_file import machine_from_dict

        return machine_from_dict(data)

    def _repr_html_(self) -> str:
        from .render.html import machine_html

        return machine_html(self)
