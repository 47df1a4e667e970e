"""Whether the kernels can serve a mesh and a message, and if not, why: decided from what is fixed, the same on every rank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jaxlib.version
import numpy as np
from jax.sharding import Mesh

from . import nvrtc
from .exchange import Exchange, this_host
from .shapes import VECTOR, one_shot_bytes

__all__ = ["ELEMENTS", "MeshFacts", "against_facts", "against_message", "against_rows", "kernel_for", "mesh_facts"]

ELEMENTS = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
WORLDS = (2, 4, 8)
TESTED_JAXLIBS = ("0.11.2", "0.12.0.1")
"""Releases on which benchmarks/allreduce ran clean: the call target is XLA's own affair, not a public one."""
TESTED_GPUS = ("9.0",)
TESTED_WORLDS = (2,)
WIDEST_ROW = 64 << 10
"""Bytes of a row that a block holds in registers."""
IN_ORDER = {
    "xla_gpu_command_buffer_scheduling_mode": ("SERIALIZE", "LHS"),
    "xla_gpu_graph_enable_concurrent_region": ("false", "0"),
}
"""Flags that can let a CUDA graph run two calls in another order on one GPU than on the other, and their values that do not."""


class MeshFacts(NamedTuple):
    """What of a mesh and its machine decides.

    ``platforms``: of its devices; ``version``: the backend's own text; ``hosts``: how many the processes are on; ``compiler``: why
    there is none, or empty.
    """

    world: int
    platforms: tuple[str, ...]
    version: str
    capabilities: tuple[str, ...]
    jaxlib: str
    hosts: int
    xla_flags: str
    compiler: str


def mesh_facts(mesh: Mesh, axis: str, exchange: Exchange) -> MeshFacts:
    """What is so for this mesh, here."""
    devices = [device for device in mesh.devices.flat if device.process_index == jax.process_index()]
    return MeshFacts(
        world=mesh.shape[axis],
        platforms=tuple(sorted({device.platform for device in mesh.devices.flat})),
        version=devices[0].client.platform_version,
        capabilities=tuple(sorted({str(getattr(device, "compute_capability", "")) for device in devices})),
        jaxlib=jaxlib.version.__version__,
        hosts=len(set(exchange.heard(this_host()).values())),
        xla_flags=os.environ.get("XLA_FLAGS", ""),
        compiler=_no_compiler(),
    )


def against_facts(facts: MeshFacts, *, untested: bool) -> str:
    """Why ``lax.psum`` is used for a mesh; empty if nothing is against the kernels. ``untested``: want of tests is not."""
    if facts.platforms not in (("gpu",), ("cuda",)) or "cuda" not in facts.version.lower():
        return f"the devices are {' and '.join(facts.platforms)}, not NVIDIA GPUs"
    if facts.world not in WORLDS:
        return f"{facts.world} ranks; the kernels are for {', '.join(map(str, WORLDS))}"
    if facts.hosts > 1:
        return f"the ranks are on {facts.hosts} hosts"
    return ("" if untested else _untested(facts)) or _concurrent(facts.xla_flags) or facts.compiler


def against_message(shape: Sequence[int], dtype: Any, max_bytes: int) -> str:
    """Why ``lax.psum`` is used for a message of this shape and type; empty if a kernel serves it."""
    name = np.dtype(dtype).name
    if name not in ELEMENTS:
        return f"{name}; the kernels are for {', '.join(ELEMENTS)}"
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0 or size % VECTOR:
        return f"{size} bytes, which is no multiple of {VECTOR}" if size else "0 bytes"
    return f"{size} bytes, more than max_bytes={max_bytes}" if size > max_bytes else ""


def against_rows(shape: Sequence[int], dtype: Any, gamma: Any, world: int) -> str:
    """Why the fused kernel does not serve rows of this shape and type; empty if it does. It takes one step, whatever the size."""
    row, size = (int(np.prod(part)) * np.dtype(dtype).itemsize for part in (shape[-1:], shape))
    if row % VECTOR or row > WIDEST_ROW:
        return f"rows of {row} bytes; the fused kernel is for multiples of {VECTOR} up to {WIDEST_ROW}"
    if kernel_for(size, world) == "two-shot":
        return f"{size} bytes go in two steps; the fused kernel is for up to {one_shot_bytes(world)}"
    if np.dtype(gamma) not in (np.dtype(dtype), np.dtype("float32")):
        return f"gamma of type {np.dtype(gamma).name}"
    return ""


def kernel_for(size: int, world: int) -> str:
    """The kernel for a message of ``size`` bytes: "one-shot" or "two-shot"."""
    return "two-shot" if size > one_shot_bytes(world) else "one-shot"


def _untested(facts: MeshFacts) -> str:
    asked = "(untested=True tries it)"
    if facts.jaxlib not in TESTED_JAXLIBS:
        return f"jaxlib {facts.jaxlib} is not tested; tested: {', '.join(TESTED_JAXLIBS)} {asked}"
    if not set(facts.capabilities) <= set(TESTED_GPUS):
        return f"compute capability {', '.join(facts.capabilities)} is not tested; tested: {', '.join(TESTED_GPUS)} {asked}"
    return "" if facts.world in TESTED_WORLDS else f"{facts.world} ranks are not tested {asked}"


def _concurrent(xla_flags: str) -> str:
    """The last flag of each name counts. XLA_FLAGS may be the path of a file that holds the flags."""
    flags = xla_flags.strip()
    if flags and not flags.startswith("-"):
        flags = Path(flags).read_text() if Path(flags).is_file() else ""
    last = dict(token.lstrip("-").partition("=")[::2] for token in flags.split())
    given = {name: last[name].strip("'\"") for name in IN_ORDER if name in last}
    asking = [f"--{name}={value}" for name, value in given.items() if value not in IN_ORDER[name]]
    return f"{asking[0]} lets calls overtake each other" if asking else ""


def _no_compiler() -> str:
    try:
        nvrtc.find_library()
    except nvrtc.CompileError as missing:
        return str(missing)
    return ""
