"""What the suite measures: workloads in plain JAX, for any number of devices, and programs of people's libraries."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class Workload(NamedTuple):
    """``build`` of its module (of ``benchmarks``) is called with ``options``; ``devices``: it takes "all" of them, or is made for "one".

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

    def loaded(self) -> ModuleType:
        """Its module, imported: it has ``size_of(name, devices, **options)`` and ``build(devices, size, **options)``."""
        return import_module(f"benchmarks.{self.module}")

    @property
    def of_a_library(self) -> bool:
        """Whether it is a program of people's libraries; such a one cannot do one device's share alone."""
        return self.module.startswith("programs.")


COMPUTE, UNROLLED = (("kind", "compute"),), (("kind", "unrolled"),)
FIRST = ("cut", "first")
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
    "ppo": Workload("PPO in one call (flax, optax)", "programs.ppo", ONE, ON_ONE, "one"),
    "ode": Workload("neural ODE, adaptive steps (diffrax, equinox)", "programs.ode", ONE, ON_ONE, "one"),
    "mcmc": Workload("sampling by NUTS (numpyro)", "programs.mcmc", ONE, ON_ONE, "one"),
    "convnet": Workload("convolution net (flax, optax)", "programs.convnet", ("single_gpu",), ON_ONE, "one"),
    "vit": Workload("vision transformer (flax, optax)", "programs.vit", ("single_gpu",), ON_ONE, "one"),
    "transformer": Workload("FSDP transformer (equinox, optax)", "programs.transformer", ("fsdp",)),
    "fsdp_first": Workload("FSDP transformer, few tokens a GPU", "workloads.fsdp", ("fsdp",), options=(FIRST,)),
    "fsdp_comm": Workload(
        "FSDP transformer, few tokens a GPU, weights cut along the last dimension",
        "workloads.fsdp",
        ("fsdp",),
        FOR_MANY,
        tried=on("fsdp", ON_FSDP),
    ),
    "rl_scan": Workload(
        "recurrent cell, scanned (RL)", "workloads.recurrent_scan", ONE, ON_ONE, "one", tried=on("simulation", ON_SCAN)
    ),
    "decode": Workload("decoding, tensor parallel", "workloads.decode", ("decode",), ("jax-toolbox", "jax-nccl")),
    "tensor_parallel": Workload(
        "transformer, tensor parallel",
        "workloads.tensor_parallel",
        ("tensor_parallel",),
        ("jax-toolbox", "jax-toolbox-collective-matmul"),
    ),
    "data_parallel": Workload(
        "transformer, data parallel", "workloads.data_parallel", ("data_parallel",), tried=on("data_parallel", ON_MANY)
    ),
    "fsdp_compute": Workload(
        "FSDP transformer, many tokens a GPU, weights cut along the last dimension",
        "workloads.fsdp",
        ("fsdp",),
        options=COMPUTE,
    ),
    "pipeline": Workload(
        "transformer, pipeline of stages",
        "workloads.pipeline",
        ("pipeline_parallel",),
        ("jax-toolbox-permute", "jax-toolbox"),
    ),
    "experts": Workload("mixture of experts, all-to-all", "workloads.experts", tried=on("auto", ON_MANY)),
    "stencil": Workload("shallow water, finite differences", "workloads.stencil", ONE, ON_ONE, "one"),
    "diffusion": Workload("diffusion, convolution net", "workloads.diffusion", ("single_gpu",), ON_ONE, "one"),
    "fsdp_unrolled": Workload(
        "FSDP transformer, layers unrolled, weights cut along the last dimension",
        "workloads.fsdp",
        ("fsdp",),
        options=UNROLLED,
    ),
}
"""In order of worth."""
