#!/bin/bash
# One training over two nodes, a process a GPU: `sbatch slurm_processes.sh`. jax.distributed reads SLURM's variables itself.
#SBATCH --job-name=fsdp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-task=1
#SBATCH --time=01:00:00
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-$PWD}"

srun python multi_process_training.py "$@"
