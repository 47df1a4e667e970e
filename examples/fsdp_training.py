"""Train a small transformer sharded over all GPUs; without a GPU, over two host devices. A script's form of use."""

from __future__ import annotations

import jaxgpu_tune

two_host_devices = {"xla_force_host_platform_device_count": 2}
report = jaxgpu_tune.configure("fsdp", flags=None if jaxgpu_tune.detect().gpus else two_host_devices)

import sharded_transformer  # imports jax, after everything is set

if __name__ == "__main__":
    size = sharded_transformer.size_from()
    print(report, end="\n\n")
    print(size)
    print(sharded_transformer.train(size))
