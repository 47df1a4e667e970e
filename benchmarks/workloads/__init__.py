"""What the suite measures: workloads in plain JAX, for any number of devices, and programs of people's libraries."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.tried import (
    CONCURRENT,
    FIRST,
    LESS,
    MORE_ON_FSDP,
    ON_EXPERTS,
    ON_MANY,
    ON_PIPELINES,
    ON_SCAN,
    ON_TENSORS,
    PARTS_OF_TOOLBOX,
    REGIONS,
    SCATTERS,
    SECOND,
    SEVERAL_QUEUES,
    THRESHOLDS,
    UPDATES,
    Variant,
    alone,
    each_gpu,
    on,
    starts,
)


class Workload(NamedTuple):
    """``build`` of its module (of ``benchmarks``) is called with ``options``.

    ``devices``: it takes "all" of them, is made for "one", or uses the "first" of all that it sees. ``presets``: the
    maintained ones that are for it; ``judged``: others that are measured on it; ``rivals`` and ``published``: others' sets,
    the first measured as early as presets; ``tried``: settings by themselves or on top of a preset. ``until``: what is timed.
    ``late``: all of it is worth less than what others promise.
    """

    title: str
    module: str
    presets: tuple[str, ...] = ()
    published: tuple[str, ...] = ("jax-toolbox",)
    devices: str = "all"
    options: tuple[tuple[str, Any], ...] = ()
    tried: tuple[Variant, ...] = ()
    judged: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    until: str = "steps"
    late: bool = False

    def loaded(self) -> ModuleType:
        """Its module, imported: it has ``size_of(name, devices, **options)`` and ``build(devices, size, **options)``."""
        return import_module(f"benchmarks.{self.module}")

    def taken(self, devices: Sequence[Any]) -> Sequence[Any]:
        """Those of the devices that it uses."""
        return devices if self.devices == "all" else devices[:1]

    def built(self, size_name: str, devices: Sequence[Any], **smaller: int) -> tuple[Any, ...]:
        """Its size, step, state and batch on those of the devices that it uses; ``smaller`` replaces parts of the size."""
        module, options, taken = self.loaded(), dict(self.options), self.taken(devices)
        size = module.size_of(size_name, len(taken), **options)._replace(**smaller)
        return (size, *module.build(taken, size, **options))


COMPUTE, UNROLLED, CUT_FIRST = ("kind", "compute"), ("kind", "unrolled"), ("cut", "first")
ONE, MANY_SETS = ("simulation", "single_gpu"), ("dreamerv3", "pgle-nsight", "jax-nccl", "jax-docs")
ON_ONE = ("dreamerv3", "jax-docs", "jax-toolbox", "pgle-nsight")
TOOLBOX, SIMULATION = ("jax-toolbox",), ("simulation",)
OPEN_LOOPS = ("while_loop", "single_gpu")
LAST = "cut along the last dimension"
ON_FSDP = (
    *on("fsdp", SCATTERS | PARTS_OF_TOOLBOX | SEVERAL_QUEUES, SECOND),
    *each_gpu(None, "fsdp"),
    *on("fsdp", LESS | MORE_ON_FSDP | THRESHOLDS),
)
QUEUES_ON_FSDP = on("fsdp", SEVERAL_QUEUES, SECOND)


def _fsdp(what: str, *options: tuple[str, Any], **more: Any) -> Workload:
    return Workload(f"FSDP transformer, {what}", "workloads.fsdp", ("fsdp",), options=options, rivals=TOOLBOX, **more)


def _start(
    title: str, module: str, presets: tuple[str, ...] = (), *, devices: str = "one", late: bool = False
) -> Workload:
    return Workload(
        f"{title}, to its first step", module, presets, devices=devices, tried=starts(), until="first step", late=late
    )


WORKLOADS: dict[str, Workload] = {
    "ppo": Workload(
        "PPO in one call (flax, optax)",
        "programs.ppo",
        ONE,
        ON_ONE,
        "one",
        judged=("while_loop",),
        tried=alone(REGIONS, FIRST) + alone(UPDATES),
    ),
    "ode": Workload(
        "neural ODE, adaptive steps (diffrax, equinox)",
        "programs.ode",
        OPEN_LOOPS,
        ON_ONE,
        "one",
        judged=SIMULATION,
        tried=alone(REGIONS, FIRST),
    ),
    "mcmc": Workload(
        "sampling by NUTS (numpyro)",
        "programs.mcmc",
        OPEN_LOOPS,
        ON_ONE,
        "one",
        judged=SIMULATION,
    ),
    "convnet": Workload(
        "convolution net (flax, optax)",
        "programs.convnet",
        ("single_gpu",),
        ON_ONE,
        "one",
        judged=SIMULATION,
        late=True,
    ),
    "vit": Workload(
        "vision transformer (flax, optax)", "programs.vit", ("single_gpu",), ON_ONE, "one", judged=SIMULATION, late=True
    ),
    "rl_scan": Workload(
        "recurrent cell, scanned (RL)",
        "workloads.recurrent_scan",
        ONE,
        ON_ONE,
        "one",
        judged=("while_loop",),
        tried=on("simulation", ON_SCAN),
    ),
    "stencil": Workload(
        "shallow water, finite differences", "workloads.stencil", ("single_gpu",), ON_ONE, "one", judged=SIMULATION
    ),
    "fsdp_first": _fsdp("few tokens a GPU", CUT_FIRST, published=MANY_SETS, tried=ON_FSDP),
    "transformer": Workload(
        "FSDP transformer (equinox, optax)", "programs.transformer", ("fsdp",), tried=QUEUES_ON_FSDP, rivals=TOOLBOX
    ),
    "ppo_visible": Workload(
        "PPO on one GPU of several that it sees",
        "programs.ppo",
        SIMULATION,
        devices="first",
    ),
    "diffusion_start": _start("diffusion", "workloads.diffusion", late=True),
    "vit_start": _start("vision transformer", "programs.vit"),
    "stencil_start": _start("shallow water", "workloads.stencil"),
    "transformer_start": _start(
        "FSDP transformer (equinox)", "programs.transformer", ("fsdp",), devices="all", late=True
    ),
    "decode": Workload(
        "decoding, tensor parallel", "workloads.decode", ("decode",), ("jax-toolbox", "jax-nccl"), late=True
    ),
    "data_parallel": Workload(
        "transformer, data parallel",
        "workloads.data_parallel",
        ("data_parallel",),
        tried=(
            *on("data_parallel", ON_MANY | SEVERAL_QUEUES, SECOND),
            *each_gpu(None),
            *alone(CONCURRENT, SECOND),
        ),
        late=True,
    ),
    "experts": Workload("mixture of experts, all-to-all", "workloads.experts", tried=alone(ON_EXPERTS), late=True),
    "pipeline": Workload(
        "transformer, pipeline of stages",
        "workloads.pipeline",
        ("pipeline_parallel",),
        ("jax-toolbox-permute", "jax-toolbox"),
        tried=alone(ON_PIPELINES),
        late=True,
    ),
    "tensor_parallel": Workload(
        "transformer, tensor parallel",
        "workloads.tensor_parallel",
        ("tensor_parallel",),
        ("jax-toolbox", "jax-toolbox-collective-matmul"),
        tried=alone(ON_TENSORS),
        late=True,
    ),
    "diffusion": Workload(
        "diffusion, convolution net",
        "workloads.diffusion",
        ("single_gpu",),
        ON_ONE,
        "one",
        judged=SIMULATION,
        late=True,
    ),
    "fsdp_compute": _fsdp(f"many tokens a GPU, {LAST}", COMPUTE, tried=QUEUES_ON_FSDP, late=True),
    "fsdp_unrolled": _fsdp(f"layers unrolled, {LAST}", UNROLLED, tried=QUEUES_ON_FSDP, late=True),
    "fsdp_comm": _fsdp(f"few tokens a GPU, {LAST}", published=MANY_SETS, tried=ON_FSDP, late=True),
}
"""In order of worth."""
