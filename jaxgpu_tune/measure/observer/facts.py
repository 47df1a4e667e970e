"""What a watched process can tell of itself without disturbing it: its place in the job, its devices, how it ended."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = [
    "AT_COMPUTATION",
    "AT_IMPORT",
    "AT_START",
    "device_facts",
    "on_gpu",
    "pgle",
    "place",
    "settings",
    "shown_exception",
    "started_jax",
]

AT_IMPORT, AT_START, AT_COMPUTATION = ("JAX_",), ("XLA_", "TF_", "CUDA_", "JAXGPU_TUNE_STATE"), ("NCCL_",)
"""How the variables begin that are told, by when they are read: by jax's import, the start of its backend, its first computation."""

RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK")
LONGEST = 4000


def settings(begins: tuple[str, ...]) -> dict[str, str]:
    """The variables, as they are now, whose names begin so; others may be secrets."""
    return {name: text for name, text in os.environ.items() if name.startswith(begins)}


def place() -> dict[str, Any]:
    """Rank and number of processes as jax.distributed has them, else as a launcher tells."""
    state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is not None:
        return {"rank": state.process_id, "processes": state.num_processes}
    told = next((os.environ[name] for name in RANKS if os.environ.get(name, "").isdigit()), None)
    return {"rank": None if told is None else int(told), "processes": None}


def started_jax() -> Any:
    """The module jax, once its backend has started, which is not done for us; None before."""
    has_backend = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    return sys.modules.get("jax") if has_backend else None


def device_facts() -> list[dict[str, Any]]:
    """This process's devices with their peak memory in bytes; none before the backend has started, which is not done for it."""
    jax = started_jax()
    return [] if jax is None else [_device(device) for device in jax.local_devices()]


def on_gpu() -> bool:
    """Whether this process has a GPU in use."""
    return any(one["platform"] == "gpu" for one in device_facts())


def _device(device: Any) -> dict[str, Any]:
    memory = device.memory_stats() or {}
    return {
        "id": device.id,
        "kind": device.device_kind,
        "platform": device.platform,
        "peak_bytes": memory.get("peak_bytes_in_use"),
        "limit_bytes": memory.get("bytes_limit"),
    }


def pgle() -> bool:
    """Whether AutoPGLE is on."""
    return bool(getattr(getattr(sys.modules.get("jax"), "config", None), "jax_enable_pgle", False))


def shown_exception() -> str | None:
    """The exception that ended the program, if Python has shown one."""
    error = getattr(sys, "last_value", None)
    return None if error is None else f"{type(error).__name__}: {error}"[:LONGEST]
