"""GPUs that a scheduler has assigned, and what a file sets instead."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.scheduled import instead_of_assigned
from jaxgpu_tune.planning.files.variables_set import variables_set

RAY = "import os, ray\n@ray.remote(num_gpus=1)\ndef work(n):\n    {}\n"


def lines(text: str, kind: str) -> list[int]:
    found = instead_of_assigned(text, kind, variables_set(text, kind))
    return [text.count("\n", 0, at) + 1 for at, _ in found]


@pytest.mark.parametrize(
    ("directive", "setting", "told"),
    [
        ("#SBATCH --gres=gpu:2", "export CUDA_VISIBLE_DEVICES=0,1", True),
        ("#SBATCH -N 1 -G 2", "export CUDA_VISIBLE_DEVICES=0", True),
        ("#PBS -l select=1:ngpus=2", "export CUDA_VISIBLE_DEVICES=0,1", True),
        ("#SBATCH --nodes=1", "export CUDA_VISIBLE_DEVICES=0,1", False),
        ("#SBATCH --gpus=2", "export CUDA_VISIBLE_DEVICES=", False),
        ("#SBATCH --gpus=2", "export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID", False),
        ("#SBATCH --gpus=2", "CUDA_VISIBLE_DEVICES=1 python b.py &", False),
        ("# a gpu", "export CUDA_VISIBLE_DEVICES=0,1", False),
    ],
)
def test_a_batch_job_that_was_given_gpus(directive: str, setting: str, told: bool) -> None:
    text = f"#!/bin/bash\n{directive}\n{setting}\nsrun python train.py\n"
    assert lines(text, "shell") == ([3] if told else [])


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(i) for i in range(n))', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = ""', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[n]', False),
        ('os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")', False),
    ],
)
def test_a_worker_of_ray(setting: str, told: bool) -> None:
    """What its driver sets before ray.init() says which GPUs Ray may give."""
    assert lines(RAY.format(setting), "python") == ([4] if told else [])
    assert lines(f"import os, ray\n{setting}\n", "python") == []
    assert lines(RAY.format(setting).replace(", ray", "").replace("@ray.remote(num_gpus=1)", ""), "python") == []
