"""Machines to plan for."""

from __future__ import annotations

from typing import Any

import jaxgpu_tune
from jaxgpu_tune.knowledge.versions import version_key

GIB = 2**30
CARDS = {
    "H100": ("NVIDIA H100 80GB HBM3", "9.0", 80 * GIB),
    "H200": ("NVIDIA H200", "9.0", 141 * GIB),
    "A100": ("NVIDIA A100-SXM4-80GB", "8.0", 80 * GIB),
    "B200": ("NVIDIA B200", "10.0", 180 * GIB),
}


def machine(card: str = "H100", count: int = 8, jaxlib: str = "0.11.2", **more: Any) -> jaxgpu_tune.Machine:
    """``count`` GPUs of one kind, joined by NVLink, with jaxlib and the CUDA plugin of one release; no GPU: count 0."""
    name, capability, memory = CARDS[card]
    gpus = [
        {
            "index": i,
            "uuid": f"GPU-{i:08d}-0000-0000-0000-000000000000",
            "name": name,
            "compute_capability": capability,
            "memory_bytes": memory,
            "free_bytes": memory,
            "mig": False,
            "nvlink_peers": [j for j in range(count) if j != i],
        }
        for i in range(count)
    ]
    cuda = 13 if version_key(jaxlib) >= version_key("0.7.2") else 12
    plugins = {f"jax-cuda{cuda}-{part}": jaxlib for part in ("plugin", "pjrt")}
    return jaxgpu_tune.Machine.from_dict({"gpus": gpus, "jaxlib": jaxlib, "jax": jaxlib, "plugins": plugins, **more})


def decision(report: jaxgpu_tune.Report, name: str) -> jaxgpu_tune.Decision:
    """The one decision on a name."""
    found = [d for d in report.decisions if d.name == name]
    assert len(found) == 1, (name, [d.name for d in report.decisions])
    return found[0]


def codes(report: jaxgpu_tune.Report) -> set[str]:
    """The codes of a report's findings."""
    return {finding.code for finding in report.findings}
