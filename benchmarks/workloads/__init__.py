"""Workloads in plain JAX that stand for what people run, for any number of devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Workload(NamedTuple):
    """``build`` of its module is called with ``options``; ``devices``: it takes "all" of them, or is made for "one".

    ``presets``: the maintained ones that are for it; ``published``: others' sets that are tried on it; ``tried``: settings on
    top of a preset that might be worth being part of it, as (what is added, preset, arguments of ``environ()``).
    """

    title: str
    module: str
    presets: tuple[str, ...] = ()
    published: tuple[str, ...] = ("jax-toolbox",)
    devices: str = "all"
    options: tuple[tuple[str, Any], ...] = ()
    tried: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()


COMPUTE, UNROLLED = (("kind", "compute"),), (("kind", "unrolled"),)
ONE = ("simulation", "single_gpu")
FOR_MANY = ("jax-toolbox", "dreamerv3", "pgle-nsight", "jax-nccl", "jax-docs")
ON_ONE = ("dreamerv3", "jax-docs", "jax-toolbox", "pgle-nsight")

COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")
ONE_QUEUE = {"env": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}
CTAS = {"env": {"NCCL_MAX_CTAS": "16"}}
CUBLAS = {"flags": {"xla_gpu_enable_triton_gemm": False}}
LARGE = {"flags": {f"xla_gpu_{name}_combine_threshold_bytes": 8 << 30 for name in COLLECTIVES}}
DOUBLE = {"flags": {"xla_gpu_enable_while_loop_double_buffering": True}}
ON_SCAN = {"double buffering": DOUBLE, "cuBLAS only": CUBLAS}
TWO = {"flags": {"xla_gpu_experimental_parallel_collective_overlap_limit": 2}}
SYMMETRIC = {"xla_gpu_enable_nccl_user_buffers": True, "xla_gpu_experimental_enable_nccl_symmetric_buffers": True}
COPY_ENGINES = {"flags": SYMMETRIC, "env": {"NCCL_CTA_POLICY": "2"}}
ON_FSDP = {
    "one queue": ONE_QUEUE,
    "16 CTAs": CTAS,
    "cuBLAS only": CUBLAS,
    "8 GiB": LARGE,
    "two at once": TWO,
    "copy engines": COPY_ENGINES,
}
ON_MANY = {"one queue": ONE_QUEUE, "8 GiB": LARGE}


def on(preset: str, tried: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """Each of these on top of the preset."""
    return tuple((f"{preset}, {name}", preset, arguments) for name, arguments in tried.items())


WORKLOADS: dict[str, Workload] = {
    "fsdp_comm": Workload("FSDP transformer, few tokens a GPU", "fsdp", ("fsdp",), FOR_MANY, tried=on("fsdp", ON_FSDP)),
    "rl_scan": Workload(
        "recurrent cell, scanned (RL)", "recurrent_scan", ONE, ON_ONE, "one", tried=on("simulation", ON_SCAN)
    ),
    "decode": Workload("decoding, tensor parallel", "decode", ("decode",), ("jax-toolbox", "jax-nccl")),
    "tensor_parallel": Workload(
        "transformer, tensor parallel",
        "tensor_parallel",
        ("tensor_parallel",),
        ("jax-toolbox", "jax-toolbox-collective-matmul"),
    ),
    "data_parallel": Workload(
        "transformer, data parallel", "data_parallel", ("data_parallel",), tried=on("data_parallel", ON_MANY)
    ),
    "fsdp_compute": Workload("FSDP transformer, many tokens a GPU", "fsdp", ("fsdp",), options=COMPUTE),
    "pipeline": Workload(
        "transformer, pipeline of stages", "pipeline", ("pipeline_parallel",), ("jax-toolbox-permute", "jax-toolbox")
    ),
    "experts": Workload("mixture of experts, all-to-all", "experts", tried=on("auto", ON_MANY)),
    "stencil": Workload("shallow water, finite differences", "stencil", ONE, ON_ONE, "one"),
    "diffusion": Workload("diffusion, convolution net", "diffusion", ("single_gpu",), ON_ONE, "one"),
    "fsdp_unrolled": Workload("FSDP transformer, layers unrolled", "fsdp", ("fsdp",), options=UNROLLED),
}
"""In order of worth."""
