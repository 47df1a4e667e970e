"""Workloads in plain JAX that stand for what people run, for any number of devices."""

from __future__ import annotations

from typing import Any, NamedTuple


class Workload(NamedTuple):
    """``module`` and ``options`` of its build(); ``presets``: the maintained ones that are for it; ``devices``: "one" or "all"."""

    title: str
    module: str
    presets: tuple[str, ...]
    devices: str = "all"
    options: tuple[tuple[str, Any], ...] = ()


WORKLOADS: dict[str, Workload] = {
    "fsdp_comm": Workload("transformer, weights sharded (FSDP), few tokens", "fsdp", ("fsdp",)),
    "rl_scan": Workload(
        "recurrent cell of five layers, scanned (RL)", "recurrent_scan", ("simulation", "single_gpu"), "one"
    ),
    "decode": Workload("decoding, tensor parallel", "decode", ("decode",)),
    "tensor_parallel": Workload("transformer, tensor parallel", "tensor_parallel", ("tensor_parallel",)),
    "data_parallel": Workload("transformer, data parallel", "data_parallel", ("data_parallel",)),
    "fsdp_compute": Workload("transformer, FSDP, many tokens", "fsdp", ("fsdp",), options=(("kind", "compute"),)),
    "pipeline": Workload("transformer, pipeline of stages", "pipeline", ("pipeline_parallel",)),
    "experts": Workload("mixture of experts, all-to-all", "experts", ()),
    "stencil": Workload("shallow water, finite differences", "stencil", ("simulation", "single_gpu"), "one"),
    "diffusion": Workload("diffusion, convolution net", "diffusion", ("single_gpu",), "one"),
    "fsdp_unrolled": Workload("transformer, FSDP, layers unrolled", "fsdp", ("fsdp",), options=(("kind", "unrolled"),)),
}
"""In order of worth."""
