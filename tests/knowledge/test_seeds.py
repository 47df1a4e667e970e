"""Every flag, variable and option that the project's first documents name has its place in the authored knowledge."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from jaxgpu_tune.knowledge.notes import note
from jaxgpu_tune.knowledge.presets import all_presets
from jaxgpu_tune.knowledge.translations import rules


def names(text: str) -> list[str]:
    """Split a page's names, which stand as they are read there."""
    return text.split()


TOOLBOX_PAGE = names(
    """
XLA_PYTHON_CLIENT_MEM_FRACTION xla_gpu_memory_limit_slop_factor CUDA_DEVICE_MAX_CONNECTIONS NCCL_LL128_BUFFSIZE NCCL_LL_BUFFSIZE
NCCL_PROTO NCCL_NVLS_ENABLE XLA_FLAGS xla_gpu_enable_latency_hiding_scheduler xla_gpu_enable_async_collectives
xla_gpu_enable_highest_priority_async_stream xla_gpu_enable_async_all_reduce xla_gpu_enable_async_all_gather
xla_gpu_enable_async_reduce_scatter xla_gpu_enable_async_collective_permute xla_gpu_enable_while_loop_double_buffering
xla_gpu_enable_pipelined_all_gather xla_gpu_enable_pipelined_reduce_scatter xla_gpu_enable_pipelined_all_reduce
xla_gpu_enable_pipelined_collectives xla_gpu_enable_all_gather_combine_by_dim xla_gpu_enable_reduce_scatter_combine_by_dim
xla_gpu_all_gather_combine_threshold_bytes xla_gpu_reduce_scatter_combine_threshold_bytes xla_gpu_all_reduce_combine_threshold_bytes
xla_gpu_enable_pipelined_p2p xla_gpu_collective_permute_decomposer_threshold xla_gpu_lhs_enable_gpu_async_tracker
xla_gpu_multi_streamed_windowed_einsum xla_gpu_threshold_for_windowed_einsum_mib xla_gpu_pgle_profile_file_or_directory_path
xla_gpu_enable_command_buffer xla_gpu_enable_custom_fusions xla_gpu_enable_nccl_user_buffers xla_gpu_enable_nccl_comm_splitting
xla_gpu_enable_nccl_per_stream_comms xla_gpu_nccl_collective_max_nchannels xla_gpu_nccl_p2p_max_nchannels xla_dump_to
xla_dump_latency_hiding_schedule xla_gpu_enable_triton_softmax_fusion xla_gpu_cudnn_gemm_fusion xla_gpu_enable_cudnn_fmha
xla_disable_hlo_passes
"""
)

JAX_PAGE = names(
    """
XLA_FLAGS xla_gpu_triton_gemm_any xla_gpu_enable_latency_hiding_scheduler xla_gpu_memory_limit_slop_factor
xla_gpu_enable_pipelined_collectives xla_gpu_collective_permute_decomposer_threshold xla_gpu_all_gather_combine_threshold_bytes
xla_gpu_reduce_scatter_combine_threshold_bytes xla_gpu_all_reduce_combine_threshold_bytes NCCL_LL128_BUFFSIZE NCCL_LL_BUFFSIZE NCCL_PROTO
"""
)

PGLE_PAGE = names(
    """
JAX_COMPILATION_CACHE_EXPECT_PGLE JAX_ENABLE_COMPILATION_CACHE JAX_COMPILATION_CACHE_DIR JAX_ENABLE_PGLE XLA_FLAGS
xla_gpu_enable_latency_hiding_scheduler xla_gpu_disable_async_collectives xla_gpu_pgle_profile_file_or_directory_path TF_CPP_VMODULE
TF_CPP_MIN_LOG_LEVEL TF_CPP_MAX_LOG_LEVEL xla_gpu_enable_triton_gemm xla_gpu_enable_command_buffer
xla_gpu_all_reduce_combine_threshold_bytes xla_gpu_all_gather_combine_threshold_bytes xla_gpu_reduce_scatter_combine_threshold_bytes
xla_gpu_enable_pipelined_all_gather xla_gpu_enable_pipelined_reduce_scatter xla_gpu_enable_pipelined_all_reduce
xla_gpu_enable_while_loop_double_buffering xla_gpu_enable_all_gather_combine_by_dim xla_gpu_enable_reduce_scatter_combine_by_dim
xla_disable_hlo_passes
"""
)

DREAMER_PAGE = names(
    """
XLA_FLAGS XLA_PYTHON_CLIENT_PREALLOCATE xla_disable_hlo_passes xla_gpu_all_gather_combine_threshold_bytes
xla_gpu_all_reduce_combine_threshold_bytes xla_gpu_enable_all_gather_combine_by_dim xla_gpu_enable_highest_priority_async_stream
xla_gpu_enable_latency_hiding_scheduler xla_gpu_enable_pipelined_all_gather xla_gpu_enable_pipelined_all_reduce
xla_gpu_enable_pipelined_reduce_scatter xla_gpu_enable_reduce_scatter_combine_by_dim xla_gpu_enable_triton_gemm
xla_gpu_enable_triton_softmax_fusion xla_gpu_enable_while_loop_double_buffering xla_gpu_graph_level
xla_gpu_reduce_scatter_combine_threshold_bytes jax_disable_most_optimizations jax_disable_jit jax_transfer_guard
"""
)


def places(name: str) -> set[str]:
    """Where a name is known: "preset", "note", "translation"."""
    found = {"preset" for preset in all_presets() for setting in preset.settings if setting.name == name}
    found |= {"note"} if note(name) else set()
    return found | ({"translation"} if rules("xla_flag", name) or rules("jax_config", name.lower()) else set())


@pytest.mark.parametrize("page", [TOOLBOX_PAGE, JAX_PAGE, PGLE_PAGE, DREAMER_PAGE])
def test_every_name_has_a_place(page: Collection[str]) -> None:
    """A reader of those pages finds each name again, in a preset, a note or a translation."""
    assert page and [name for name in page if not places(name)] == []


def test_the_check_can_fail() -> None:
    """A name that nobody wrote down has no place."""
    assert not places("xla_gpu_make_it_fast")


@pytest.mark.parametrize("level", ["0", "1", "2", "3"])
def test_the_numbers_of_the_command_buffer_flag(level: str) -> None:
    """The first page offers the numbers of the older level flag; each has a translation."""
    assert any(rule.applies(level) for rule in rules("xla_flag", "xla_gpu_enable_command_buffer"))
