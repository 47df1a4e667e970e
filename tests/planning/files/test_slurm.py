"""What a job script asks SLURM for."""

from __future__ import annotations

import pytest

from jaxgpu_tune.model import Gpu, Machine
from jaxgpu_tune.planning.files.mapped import line_of
from jaxgpu_tune.planning.files.slurm import Job, job_in

HEAD = "#!/bin/bash\n"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("#SBATCH --gres=gpu:8\n", (2, 8, 8)),
        ("#SBATCH --gres=gpu\n", (2, 1, 1)),
        ("#SBATCH --gres=lscratch:100,gpu:h100:4,license:2\n", (2, 4, 4)),
        ("#SBATCH --gres gpu:1080ti:4(S:0)\n", (2, 4, 4)),
        ("#SBATCH -N 2\n#SBATCH --gpus-per-node=h100:8\n", (3, 16, 8)),
        ("#SBATCH --nodes=2-4 --gpus-per-node=8 # at least two\n", (2, 16, 8)),
        ("#SBATCH -N2 -n16\n#SBATCH -G 16\n", (3, 16, 8)),
        ("#SBATCH --gpus=a100:2,h100:2\n", (2, 4, 4)),
        ("#SBATCH --ntasks=8\n#SBATCH --gpus-per-task=1\n", (3, 8, 1)),
        ("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\n", (4, 8, 1)),
        ("#SBATCH --gres=gpu:8\n# a word\n\n#SBATCH --gres=gpu:2\n", (5, 2, 2)),
        ("#SBATCH --gpus-per-node=8 # was --gpus-per-node=4\n", (2, 8, 8)),
        ('#SBATCH --gpus=8 --comment="uses --gpus=4 of them"\n', (2, 8, 8)),
        ("#SBATCH -N 2 --gres='gpu:h100:4'\n", (2, 8, 4)),
        ('#SBATCH --gres="gpu:8"\r\n', (2, 8, 8)),
        ("#SBATCH --gres=gpu:${N}\n", (2, 1, 1)),
    ],
)
def test_the_gpus_of_the_job_and_of_a_process(lines: str, found: tuple[int, int, int]) -> None:
    """The last word counts; where the nodes are not said it is one."""
    text = HEAD + lines
    job = job_in(text)
    assert job and (line_of(text, job.at), job.devices, job.own) == found


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH --gres=lscratch:100\n",
        "#SBATCH --nodes=2 --comment=--gpus=8\n",
        "##SBATCH --gres=gpu:8\n",
        "#SBATCH --gpus=0\n",
        "srun hostname\n#SBATCH --gres=gpu:8\n",
        "#SBATCH --gres=gpu:8\n#SBATCH hetjob\n#SBATCH --gres=gpu:2\n",
        "srun --gres=gpu:8 python train.py\n",
    ],
)
def test_what_asks_for_no_gpus_or_for_several_jobs(lines: str) -> None:
    assert job_in(HEAD + lines) is None and job_in("") is None


def test_its_gpus_are_of_a_kind_that_is_not_known() -> None:
    """Those that are seen stay what they are."""
    bare, seen = Machine(gpus=(), jaxlib="0.11.2"), Machine(gpus=(Gpu(index=0, name="x"),))
    assert Job(0, 16, 2).on(bare) == bare._replace(gpus=(Gpu(index=0), Gpu(index=1)))
    assert Job(0, 16, 8).on(seen) == seen


@pytest.mark.parametrize(
    ("here", "seen"), [(0, "no GPU is seen here."), (1, "1 GPU is seen here."), (2, "2 GPUs are seen here.")]
)
def test_what_is_said_of_it(here: int, seen: str) -> None:
    said = Job(0, 16, 8).finding(here)
    assert said.message == f"The job asks for 16 GPUs, so the file is judged for that many; {seen}"
    assert said.severity == "note" and "--machine node.json" in said.hint
