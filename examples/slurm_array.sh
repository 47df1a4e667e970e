#!/bin/bash
# An array of trainings, one node each: `sbatch slurm_array.sh`. Each task is configured on the node where it runs,
# so that the plan fits that node's GPUs and jaxlib, whatever the login node has.
#SBATCH --job-name=fsdp
#SBATCH --array=0-3
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=01:00:00
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-$PWD}"

layers=(4 8 12 16)
srun jaxgpu-tune run fsdp --compilation-cache "$PWD/jax_cache" -- \
  python decorated_training.py --layers "${layers[$SLURM_ARRAY_TASK_ID]}" "$@"
