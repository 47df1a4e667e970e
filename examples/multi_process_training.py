"""One training by several processes: SLURM, OpenMPI and Kubernetes are found by jax itself, others are told.

srun python multi_process_training.py
python multi_process_training.py --coordinator host:1234 --processes 2 --process 0    # and another with 1
"""

from __future__ import annotations

import argparse

import jaxgpu_tune

report = jaxgpu_tune.configure("fsdp")

import jax


def main() -> None:
    """Join the job, see that all processes are set up alike, train; the first process prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coordinator", help="host:port of process 0")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int)
    given, rest = parser.parse_known_args()
    own_gpus = report.machine.processes.local_device_ids
    try:
        jax.distributed.initialize(given.coordinator, given.processes, given.process, own_gpus)
    except ValueError as error:
        parser.error(
            f"no launcher was found ({error}) Start it by srun or mpirun, or give --coordinator, --processes and --process."
        )
    for finding in jaxgpu_tune.check_processes():
        print(finding.message, finding.hint)

    import sharded_transformer

    result = sharded_transformer.train(sharded_transformer.size_from(rest))
    if jax.process_index() == 0:
        print(report, end="\n\n")
        print(result)


if __name__ == "__main__":
    main()
