"""Compiling for GPUs that are not there: the real GPU compiler, where jax's CUDA plugin and NVIDIA's wheels are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jaxgpu_tune

MISSING = "no jax-cuda13-pjrt with nvidia-cuda-nvcc, nvidia-nvvm and nvidia-cuda-nvrtc: they take half a gigabyte"
H200 = """gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 4800000000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 150000000000 shared_memory_per_block_optin: 232448 registers_per_core_limit: 65536
  registers_per_block_limit: 65536 cuda_compute_capability { major: 9 } dnn_version: "9.10.1"
  runtime_version: "13.0.0" driver_version: "13.0.0" device_interconnect_info { active_links: 18 } } platform_name: "CUDA" device_description_str: "NVIDIA H200"
"""

GPU = {"name": "NVIDIA H200", "compute_capability": "9.0", "memory_bytes": 150754820096}


def machine(count: int) -> dict[str, Any]:
    """What is installed here, as on a host of so many H200: for plans."""
    peers = [[other for other in range(count) if other != one] for one in range(count)]
    gpus = [{**GPU, "index": one, "uuid": f"GPU-{one}", "nvlink_peers": peers[one]} for one in range(count)]
    return {**jaxgpu_tune.detect().to_dict(), "gpus": gpus, "driver": "580.159.04", "cuda_driver": "13.0"}


def devices(count: int) -> Any:
    """So many H200 of one process, to compile for; call it in a child with JAX_PLATFORMS=cpu and XLA's path of the toolkit."""
    from jax.experimental import topologies

    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="", target_config=H200, topology=f"1x1x{count}"
    )
    return topology.devices


def toolkit() -> Path | None:
    """The folder of ptxas and libdevice, from wheels, where jax's CUDA plugin is there, too; None: nothing can be compiled."""
    folders = [Path(entry) for entry in sys.path if (Path(entry) / "jax_plugins" / "xla_cuda13").is_dir()]
    found = (folder / "nvidia" / "cu13" for folder in folders)
    return next((folder for folder in found if (folder / "bin" / "ptxas").is_file()), None)
