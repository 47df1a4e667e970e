"""The arguments of ``configure()``, and of every function that plans as it does: names, types and meaning, written down once."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from .model import Machine

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Arguments", "Unpack"]


class Arguments(TypedDict, total=False):
    """What can be asked for, each by its name. Every argument may be left out; None means the same.

    Attributes:
        flags: XLA flags by name, with or without ``--``; None as a value removes the flag. They win over what is set already.
        env: Environment variables by name; None as a value removes the variable.
        jax_config: Options of ``jax.config`` by name; None as a value leaves jax's own default.
        memory_fraction: Share of each GPU's memory for JAX, from 0 to 1; ``"auto"`` computes it from what else needs memory.
        preallocate: Whether JAX takes its share of the memory at the start, or as it needs it.
        allocator: The allocator of GPU memory: ``"default"``, ``"bfc"``, ``"cuda_async"``, ``"platform"`` or ``"vmm"``.
        processes_per_gpu: How many processes share each GPU; each gets an equal part of its memory.
        transfer_guard: What happens to implicit transfers between host and device, in all directions.
        compilation_cache: The directory in which compiled programs are kept; False switches the cache off.
        cuda_graphs: Whether XLA runs programs as CUDA graphs (its command buffers). False empties the flag
            xla_gpu_enable_command_buffer: for programs in which another library uses the GPU while XLA records a graph.
        pgle: Profile-guided latency estimation: ``"auto"``, ``"expect"``, or the path of a profile.
        layer_bytes: Bytes of one layer's weights, as sent between GPUs: up to this size ``fsdp`` joins small transfers into one.
        platform: ``"cuda"``, or ``"cpu"``, which leaves the settings for GPUs out.
        devices: How many GPUs the whole job uses, where the launcher does not tell, or tells of more: 1 for a process that uses one GPU by itself.
        prefer: Who wins where both set something: ``"existing"`` (what is set already) or ``"preset"``.
        strict: Whether findings of severity error, conflicts, and unknown flags that were set before raise.
        probe: Whether the installed binaries are asked in a child process; None asks them only for a build that is in no table.
        late: What to do if JAX's backend has started: ``"raise"``, ``"warn"`` or ``"reexec"`` (start the program again).
        unmeasured: Whether a preset also sets what was measured on GPUs of another compute capability only; each such decision says so.
        machine: Plan for this machine instead of the one here: a Machine, a mapping, or the path of a machine file (JSON).
    """

    flags: Mapping[str, Any] | None
    env: Mapping[str, str | int | float | os.PathLike[str] | None] | None
    jax_config: Mapping[str, Any] | None
    memory_fraction: float | Literal["auto"] | None
    preallocate: bool | None
    allocator: str | None
    processes_per_gpu: int | None
    transfer_guard: Literal["allow", "log", "disallow", "log_explicit", "disallow_explicit"] | None
    compilation_cache: str | os.PathLike[str] | Literal[False] | None
    cuda_graphs: bool | None
    pgle: str | os.PathLike[str] | None
    layer_bytes: int | None
    platform: Literal["cpu", "cuda"] | None
    devices: int | None
    prefer: Literal["existing", "preset"]
    strict: bool
    probe: bool | None
    late: Literal["raise", "warn", "reexec"]
    unmeasured: bool
    machine: Machine | Mapping[str, Any] | str | os.PathLike[str] | None
