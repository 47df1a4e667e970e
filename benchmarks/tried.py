"""A variant of a workload, and the settings that are tried on top of presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

DEFAULT, FIRST, SECOND, LATER = "default", 1, 2, 3
FILLS = -1
"""The round of a process that fills the folder which the variant's next processes find."""
KEPT = "/kept"
"""In a value of a setting: a folder that lasts from one process to the next, filled before it is timed."""


class Variant(NamedTuple):
    """A preset with more arguments of ``environ()``; ``worth``: 1 is measured first, ``LATER`` last.

    ``processes``: one a GPU, or one for all. ``kept``: its settings name the folder ``KEPT``, which a process before fills.
    """

    name: str
    preset: str | None
    arguments: Mapping[str, Any] = {}
    worth: int = FIRST
    processes: str = "one for all"
    kept: bool = False


NOTHING = Variant(DEFAULT, None)
Settings = Mapping[str, Mapping[str, Any]]


def on(preset: str, tried: Settings, worth: int = LATER) -> tuple[Variant, ...]:
    """Each of these settings on top of the preset."""
    return tuple(Variant(f"{preset}, {name}", preset, arguments, worth) for name, arguments in tried.items())


def alone(tried: Settings, worth: int = SECOND) -> tuple[Variant, ...]:
    """Each of these settings by itself."""
    return tuple(Variant(name, "auto", arguments, worth) for name, arguments in tried.items())


def flags(**values: Any) -> dict[str, Any]:
    """Arguments that set XLA flags, named without their ``xla_gpu_``."""
    return {"flags": {f"xla_gpu_{name}": value for name, value in values.items()}}


def env(**values: str | None) -> dict[str, Any]:
    """Arguments that set variables; None unsets one."""
    return {"env": values}


MIB = 1 << 20
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")
ONE_QUEUE = env(CUDA_DEVICE_MAX_CONNECTIONS="1")
SEVERAL_QUEUES = {"several queues": env(CUDA_DEVICE_MAX_CONNECTIONS=None)}
"""A preset without its one hardware queue; CUDA has eight of them by default."""
CUBLAS = flags(enable_triton_gemm=False)
LARGE = flags(**{f"{name}_combine_threshold_bytes": 8 << 30 for name in COLLECTIVES})
PROTOCOLS = env(NCCL_PROTO="SIMPLE,LL,LL128", NCCL_LL_BUFFSIZE="-2", NCCL_LL128_BUFFSIZE="-2")
COPY_ENGINES = {
    **flags(enable_nccl_user_buffers=True, experimental_enable_nccl_symmetric_buffers=True),
    **env(NCCL_CTA_POLICY="2"),
}
DIMENSIONS = flags(enable_all_gather_combine_by_dim=False, enable_reduce_scatter_combine_by_dim=False)

SCATTERS = {
    "scatters by default": flags(reduce_scatter_combine_threshold_bytes=None),
    "scatters to 32 MiB": flags(reduce_scatter_combine_threshold_bytes=32 * MIB),
    "scatters to 64 MiB": flags(reduce_scatter_combine_threshold_bytes=64 * MIB),
}
"""How much a combined reduce-scatter may hold; the preset says 128 MiB."""
THRESHOLDS = {
    f"thresholds of {size} MiB": flags(**{f"{name}_combine_threshold_bytes": size * MIB for name in COLLECTIVES})
    for size in (64, 256)
}
"""How much any combined collective may hold."""
PARTS_OF_TOOLBOX = {"dimensions mixed": DIMENSIONS, "protocols": PROTOCOLS, "8 GiB": LARGE}
"""What jax-toolbox sets beyond the preset fsdp."""
LESS = {
    "no double buffering": flags(enable_while_loop_double_buffering=False),
    "gathers by default": flags(all_gather_combine_threshold_bytes=None),
    "no pipelining": flags(pipeline_all_gather="off", pipeline_reduce_scatter="off", pipeline_all_reduce="off"),
}
"""The preset without one of its settings: what that one gains, and the memory that it costs."""
MORE_ON_FSDP = {
    "16 CTAs": env(NCCL_MAX_CTAS="16"),
    "cuBLAS only": CUBLAS,
    "two at once": flags(experimental_parallel_collective_overlap_limit=2),
    "scale-up overlap 2": flags(experimental_parallel_scale_up_collective_overlap_limit=2),
    "multi streaming": flags(experimental_enable_collective_multi_streaming=True),
    "copy engines": COPY_ENGINES,
}
ON_MANY = {
    "multi streaming": flags(experimental_enable_collective_multi_streaming=True),
    "scale-up overlap 2": flags(experimental_parallel_scale_up_collective_overlap_limit=2),
    "8 GiB": LARGE,
}
ON_SCAN = {
    "double buffering": flags(enable_while_loop_double_buffering=True, command_buffer_scheduling_mode="CONCURRENT"),
    "cuBLAS only": CUBLAS,
}
"""Double buffering with the setting of the preset, which would give way to it."""
REGIONS = {"concurrent regions": flags(command_buffer_scheduling_mode="CONCURRENT_REGIONS")}
CONCURRENT = {"simulation's setting": flags(command_buffer_scheduling_mode="CONCURRENT")}
UPDATES = {"no updates of temporaries": flags(command_buffer_update_mode="SKIP_TEMP")}
ON_EXPERTS = {"one queue": ONE_QUEUE, **ON_MANY, "protocols": PROTOCOLS, **CONCURRENT}
ON_TENSORS = {"one queue": ONE_QUEUE, **CONCURRENT}
PIPELINED = {
    "flags": {
        "xla_gpu_experimental_pipeline_parallelism_opt_level": "PIPELINE_PARALLELISM_OPT_LEVEL_ENABLE",
        "xla_disable_hlo_passes": "collective-permute-motion",
    }
}
ON_PIPELINES = {"pipeline level": PIPELINED, "cuBLAS only": CUBLAS}
ONE_EACH = "one a GPU"


def each_gpu(*presets: str | None) -> tuple[Variant, ...]:
    """One process a GPU in place of one for all."""
    names = {preset: f"{preset or DEFAULT}, one process a GPU" for preset in presets}
    return tuple(Variant(name, preset, {}, SECOND, ONE_EACH) for preset, name in names.items())


def starts() -> tuple[Variant, ...]:
    """What shortens the time to the first step, or is said to."""
    cache = {"env": {"JAX_COMPILATION_CACHE_DIR": KEPT, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}}
    picks = {"flags": {"xla_gpu_per_fusion_autotune_cache_dir": KEPT}}
    return (
        Variant("compilation cache, second start", "auto", cache, SECOND, kept=True),
        Variant("autotune cache, second start", "auto", picks, SECOND, kept=True),
        Variant("fast_compile", "fast_compile", worth=SECOND),
        Variant("no autotuning of fusions", "auto", flags(experimental_enable_fusion_autotuner=False), SECOND),
        Variant("16 algorithms", "auto", flags(blas_max_algorithms=16), SECOND),
    )
