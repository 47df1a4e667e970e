"""The machine that commands are tried on."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

from jaxgpu_tune.host import detect
from jaxgpu_tune.host.gpus import NvmlAnswer

H100 = {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "memory_bytes": 85899345920, "count": 8}
OURS = ("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "TF_", "CUDA_")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight H100s and a clean environment; 140 columns."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"gpus": [H100], "jax": "0.11.2", "jaxlib": "0.11.2"}))
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    monkeypatch.setenv("COLUMNS", "140")
    return file


@pytest.fixture
def login_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clean environment on this host, which shows no GPU."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(detect, "find_gpus", lambda _: NvmlAnswer(()))
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def this_jaxlib(machine: Path) -> None:
    """Eight H100s with the jaxlib that is installed: nothing is run for another one."""
    machine.write_text(json.dumps({"gpus": [H100], "jax": version("jax"), "jaxlib": version("jaxlib")}))
