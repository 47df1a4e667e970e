"""Whether the kernels can serve a mesh and a message, and if not, why: decided from what is fixed, the same on every rank."""

from __future__ import annotations

import os
from collections.abc import Sequence

import jax
import jaxlib
import numpy as np
from jax.sharding import Mesh

from . import cuda, nvrtc
from .exchange import Exchange, this_host
from .shapes import VECTOR, one_shot_bytes
from .staging import groups, unjoined

__all__ = ["ELEMENTS", "against_mesh", "against_message", "against_rows", "kind_of"]

ELEMENTS = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
WORLDS = (2, 4, 8)
TESTED_JAXLIBS = ("0.11.2",)
"""Releases on which benchmarks/allreduce.py ran clean: the call target is XLA's own affair, not a public one."""
TESTED_GPUS = ("9.0",)
TESTED_WORLDS = (2,)
WIDEST_ROW = 64 << 10
"""Bytes of a row that a block holds in registers."""


def against_mesh(mesh: Mesh, axis: str, exchange: Exchange, *, untested: bool) -> str:
    """Why ``lax.psum`` is used for this mesh; empty if the kernels can serve it. ``untested``: no objection for want of tests."""
    devices = [device for device in mesh.devices.flat if device.process_index == jax.process_index()]
    kinds = sorted({device.platform for device in mesh.devices.flat})
    if kinds not in (["gpu"], ["cuda"]) or "cuda" not in devices[0].client.platform_version.lower():
        return f"the devices are {' and '.join(kinds)}, not NVIDIA GPUs"
    world = mesh.shape[axis]
    if world not in WORLDS:
        return f"{world} ranks; the kernels are for {', '.join(map(str, WORLDS))}"
    objection = "" if untested else _untested(world, {device.compute_capability for device in devices})
    hosts = set(exchange.heard(this_host()).values())
    elsewhere = f"the ranks are on {len(hosts)} hosts" if len(hosts) > 1 else ""
    return elsewhere or objection or _concurrent() or _no_compiler() or _not_joined(mesh, axis)


def against_message(shape: Sequence[int], dtype: object, max_bytes: int) -> str:
    """Why ``lax.psum`` is used for a message of this shape and type; empty if a kernel serves it."""
    name = np.dtype(dtype).name
    if name not in ELEMENTS:
        return f"{name}; the kernels are for {', '.join(ELEMENTS)}"
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0 or size % VECTOR:
        return f"{size} bytes, which is no multiple of {VECTOR}"
    return f"{size} bytes, more than max_bytes={max_bytes}" if size > max_bytes else ""


def against_rows(shape: Sequence[int], dtype: object, gamma: object) -> str:
    """Why the fused kernel does not serve rows of this shape and type; empty if it does."""
    size = shape[-1] * np.dtype(dtype).itemsize
    if size % VECTOR or size > WIDEST_ROW:
        return f"rows of {size} bytes; the kernel is for multiples of {VECTOR} up to {WIDEST_ROW}"
    if np.dtype(gamma) not in (np.dtype(dtype), np.dtype("float32")):
        return f"gamma of type {np.dtype(gamma).name}"
    return ""


def kind_of(size: int, world: int) -> str:
    """The kernel for a message of ``size`` bytes: "one-shot" or "two-shot"."""
    return "two-shot" if size > one_shot_bytes(world) and size % (world * VECTOR) == 0 else "one-shot"


def _untested(world: int, capabilities: set[str]) -> str:
    if jaxlib.__version__ not in TESTED_JAXLIBS:
        return f"jaxlib {jaxlib.__version__} is not tested; tested: {', '.join(TESTED_JAXLIBS)} (untested=True tries it)"
    if not capabilities <= set(TESTED_GPUS):
        return f"compute capability {', '.join(sorted(capabilities))} is not tested; tested: {', '.join(TESTED_GPUS)}"
    return "" if world in TESTED_WORLDS else f"{world} ranks are not tested (untested=True tries it)"


def _concurrent() -> str:
    flag = "--xla_gpu_command_buffer_scheduling_mode=CONCURRENT"
    return f"{flag} lets calls overtake each other" if flag in os.environ.get("XLA_FLAGS", "") else ""


def _no_compiler() -> str:
    try:
        nvrtc.find_library()
    except nvrtc.CompileError as missing:
        return str(missing)
    return ""


def _not_joined(mesh: Mesh, axis: str) -> str:
    try:
        return next(filter(None, (unjoined(group) for group in groups(mesh, axis))), "")
    except cuda.CudaError as failed:
        return str(failed)
