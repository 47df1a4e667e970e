"""Workloads in plain JAX that stand for what people run, for any number of devices."""

from __future__ import annotations

from typing import Any, NamedTuple


class Workload(NamedTuple):
    """``build`` of its module is called with ``options``; ``devices``: it takes "all" of them, or is made for "one".

    ``presets``: the maintained ones that are for it; ``published``: others' sets that are tried on it.
    """

    title: str
    module: str
    presets: tuple[str, ...] = ()
    published: tuple[str, ...] = ("jax-toolbox",)
    devices: str = "all"
    options: tuple[tuple[str, Any], ...] = ()


COMPUTE, UNROLLED = (("kind", "compute"),), (("kind", "unrolled"),)
ONE = ("simulation", "single_gpu")
FOR_MANY = ("jax-toolbox", "dreamerv3", "pgle-nsight", "jax-nccl", "jax-docs")
ON_ONE = ("dreamerv3", "jax-docs", "jax-toolbox", "pgle-nsight")

WORKLOADS: dict[str, Workload] = {
    "fsdp_comm": Workload("FSDP transformer, few tokens a GPU", "fsdp", ("fsdp",), FOR_MANY),
    "rl_scan": Workload("recurrent cell, scanned (RL)", "recurrent_scan", ONE, ON_ONE, "one"),
    "decode": Workload("decoding, tensor parallel", "decode", ("decode",), ("jax-toolbox", "jax-nccl")),
    "tensor_parallel": Workload(
        "transformer, tensor parallel",
        "tensor_parallel",
        ("tensor_parallel",),
        ("jax-toolbox", "jax-toolbox-collective-matmul"),
    ),
    "data_parallel": Workload("transformer, data parallel", "data_parallel", ("data_parallel",)),
    "fsdp_compute": Workload("FSDP transformer, many tokens a GPU", "fsdp", ("fsdp",), options=COMPUTE),
    "pipeline": Workload(
        "transformer, pipeline of stages", "pipeline", ("pipeline_parallel",), ("jax-toolbox-permute", "jax-toolbox")
    ),
    "experts": Workload("mixture of experts, all-to-all", "experts"),
    "stencil": Workload("shallow water, finite differences", "stencil", ONE, ON_ONE, "one"),
    "diffusion": Workload("diffusion, convolution net", "diffusion", ("single_gpu",), ON_ONE, "one"),
    "fsdp_unrolled": Workload("FSDP transformer, layers unrolled", "fsdp", ("fsdp",), options=UNROLLED),
}
"""In order of worth."""
