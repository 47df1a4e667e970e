"""Where ``jit(compiler_options=)`` differs from XLA_FLAGS in a way that no registry tells: authored, from XLA's sources.

Which flag has a field of its own, and thus is a compile option by name, is in ``flags.tsv``.
"""

from __future__ import annotations

__all__ = ["ENUM_FIELDS", "JAXLIB_SETS", "JAX_SETS", "OTHER_NAMES", "PROCESS_WIDE"]

PROCESS_WIDE = frozenset(
    {
        # communicators: read when the first one is made, or frozen then
        "xla_gpu_collectives_implementation",
        "xla_gpu_enable_nccl_comm_splitting",
        "xla_gpu_first_collective_call_terminate_timeout_seconds",
        "xla_gpu_first_collective_call_warn_stuck_timeout_seconds",
        "xla_gpu_nccl_async_execution",
        "xla_gpu_nccl_blocking_communicators",
        "xla_gpu_nccl_init_max_rank_per_root_ratio",
        "xla_gpu_nccl_terminate_on_error",
        "xla_gpu_nccl_termination_timeout_seconds",
        # the allocator, chosen when the backend starts
        "xla_gpu_command_buffer_update_mode",
        "xla_gpu_enable_allocator_spatial_partitioning",
        "xla_gpu_experimental_vmm_disabled",
        "xla_gpu_enable_nccl_user_buffers_in_default_space",
        "xla_gpu_temp_buffer_use_separate_color",
        # half of it is read when a communicator is made, so that alone per compile it costs memory and gains nothing
        "xla_gpu_experimental_enable_nccl_symmetric_buffers",
        # the backend, and what runs the executables
        "xla_cmd_buffer_trace_cache_size",
        "xla_force_host_platform_device_count",
        "xla_gpu_algorithm_denylist_path",
        "xla_gpu_execution_terminate_timeout",
        "xla_gpu_require_exclusive_lock",
        "xla_flags_reset",
        "xla_fuel",
    }
)
"""Flags that the plugin reads once for the process: ``compiler_options`` takes their names, and nothing comes of it."""

OTHER_NAMES = {
    "xla_gpu_executable_terminate_timeout": "xla_gpu_executable_terminate_timeout_seconds",
    "xla_gpu_executable_warn_stuck_timeout": "xla_gpu_executable_warn_stuck_timeout_seconds",
}
"""Flags whose field has another name, which is no flag's, and takes the same value."""

ENUM_FIELDS = {
    "xla_gpu_enable_libnvjitlink": (
        "xla_gpu_libnvjitlink_mode",
        {True: "LIB_NV_JIT_LINK_MODE_ENABLED", False: "LIB_NV_JIT_LINK_MODE_DISABLED"},
    ),
}
"""Boolean flags that write an enum's field which has no flag of its own: that field, and its member for each value."""

JAX_SETS = {
    "xla_disable_hlo_passes": "jax_compiler_enable_remat_pass",
    "xla_backend_optimization_level": "jax_disable_most_optimizations",
    "xla_llvm_disable_expensive_passes": "jax_disable_most_optimizations",
    "xla_gpu_cuda_data_dir": "jax, where it finds NVIDIA's wheels,",
    "xla_gpu_experimental_autotune_cache_mode": "jax_persistent_cache_enable_xla_caches",
    "xla_gpu_kernel_cache_file": "jax_persistent_cache_enable_xla_caches",
    "xla_gpu_per_fusion_autotune_cache_dir": "jax_persistent_cache_enable_xla_caches",
}
"""Flags whose value jax replaces in every compile, and the option (or else) by which it does: jax/_src/compiler.py."""

JAXLIB_SETS = frozenset({"xla_cpu_enable_fast_min_max", "xla_gpu_enable_fast_min_max"})
"""Flags that jaxlib itself sets to false in every new CompileOptions: jaxlib/xla_compiler.cc."""
