"""Ray: each worker starts with what it needs, since the driver's environment does not reach it. Needs ``pip install ray``."""

from __future__ import annotations

import argparse

import ray

import jaxgpu_tune


def train(arguments: list[str]) -> str:
    """Runs in the worker, whose environment is set before it imports jax."""
    import sharded_transformer

    return str(sharded_transformer.train(sharded_transformer.size_from(arguments)))


def main() -> None:
    """Train in one worker; what follows ``--gpus N`` goes to the training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=float, default=0, help="GPUs that the worker asks Ray for")
    given, rest = parser.parse_known_args()
    # base={}: only what is decided here, so that what Ray sets for a worker, such as CUDA_VISIBLE_DEVICES, stays.
    # Plan on a machine like the workers', or pass machine=.
    variables = jaxgpu_tune.environ("fsdp", base={})
    ray.init(include_dashboard=False)
    worker = ray.remote(num_gpus=given.gpus, runtime_env={"env_vars": variables})(train)
    print(ray.get(worker.remote(rest)))


if __name__ == "__main__":
    main()
