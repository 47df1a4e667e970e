"""Names of flags, options and variables that several modules speak of."""

from __future__ import annotations

__all__ = [
    "CACHE_OPTION",
    "CACHE_SWITCH",
    "CUDA_GRAPHS_FLAG",
    "DATA_DIR",
    "EXPECT_OPTION",
    "GUARD_OPTIONS",
    "GUARD_UMBRELLA",
    "PGLE_OPTION",
    "PLATFORMS_OPTION",
    "PROFILE_FLAG",
    "THRESHOLD_FLAGS",
    "VISIBLE",
]

GUARD_UMBRELLA = "jax_transfer_guard"
"""The option that sets the three below it."""
GUARD_OPTIONS = (
    "jax_transfer_guard_host_to_device",
    "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
)
THRESHOLD_FLAGS = tuple(
    f"xla_gpu_{collective}_combine_threshold_bytes" for collective in ("all_gather", "reduce_scatter", "all_reduce")
)
PROFILE_FLAG = "xla_gpu_pgle_profile_file_or_directory_path"
CACHE_OPTION = "jax_compilation_cache_dir"
CACHE_SWITCH = "jax_enable_compilation_cache"
PGLE_OPTION, EXPECT_OPTION = "jax_enable_pgle", "jax_compilation_cache_expect_pgle"
PLATFORMS_OPTION = "jax_platforms"
DATA_DIR = "xla_gpu_cuda_data_dir"
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which GPUs are a process's own: its scheduler says it, and it is never ours to overwrite."""
CUDA_GRAPHS_FLAG = "xla_gpu_enable_command_buffer"
