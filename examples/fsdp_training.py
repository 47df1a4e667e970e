"""Train a small transformer sharded over all GPUs; without a GPU, over two host devices. A script's form of use."""

from __future__ import annotations

import os

import jaxgpu_tune

HOST_DEVICES = "xla_force_host_platform_device_count"
given = jaxgpu_tune.detect().gpus or HOST_DEVICES in os.environ.get("XLA_FLAGS", "")
report = jaxgpu_tune.configure("fsdp", flags=None if given else {HOST_DEVICES: 2})

import sharded_transformer  # imports jax, after everything is set

if __name__ == "__main__":
    size = sharded_transformer.size_from()
    print(report, end="\n\n")
    print(size)
    print(sharded_transformer.train(size))
