"""What check_processes() says of the processes of a job on one host, a GPU each, that this library set up.

Runs jobs of a process for each GPU, each joined by jax.distributed.initialize() with the local_device_ids that the library found.
Alike: nothing is to be said, and they compute together. One set differently: it is to be named. The same unchecked: whether the
job still waits after a while. Prints the seconds; writes JSON. Exit code 1 if a job ended otherwise. Without GPUs on the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.ports import free_port

RESULTS = Path(__file__).resolve().parent / "results"
OF_THE_JOB = (
    "SLURM_",
    "OMPI_",
    "PMI",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "CUDA_VISIBLE_DEVICES",
    "JAX_LOCAL",
    "JAX_NUM_CPU",
)
PRESET = "fsdp"
ODD = {"flags": {"xla_gpu_enable_triton_gemm": "false"}, "jax_config": {"jax_default_matmul_precision": "highest"}}
LIMIT_SECONDS = 120
Member = subprocess.Popen[str]


def main() -> int:
    """Run the jobs, print and write what they told; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--member", nargs=3, metavar=("RANK", "PORT", "JOB"), help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, help="by default one a GPU, and two without GPUs")
    parser.add_argument("--wait", type=float, default=30, help="seconds after which an unchecked job counts as waiting")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--name", default="cpu", help="of the machine, for the result's file")
    given = parser.parse_args()
    if given.member:
        rank, port, job = given.member
        member(int(rank), port, json.loads(job))
        return 0
    machine = jaxgpu_tune.detect()
    uuids = [gpu.uuid or str(gpu.index) for gpu in machine.gpus or ()][: given.processes]
    found = [
        {"job": name, **run(job, given.wait)} for name, job in jobs(uuids, given.processes or len(uuids) or 2).items()
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"check-processes-{given.name}.json"
    path.write_text(json.dumps({"preset": PRESET, "jobs": found, "machine": machine.to_dict()}, indent=1) + "\n")
    for one in found:
        show(one)
    print(f"written: {path.name}")
    return 0 if all(one["as_expected"] for one in found) else 1


def jobs(uuids: Sequence[str], size: int) -> dict[str, dict[str, Any]]:
    """Each job: the launcher's variables and the own GPUs of each process, what process 1 is given, whether it is checked."""
    ranks = range(size)
    seeing_all = [mpi(rank, size) for rank in ranks]
    visible = [{"CUDA_VISIBLE_DEVICES": uuid} for uuid in uuids] or [{} for _ in ranks]
    seeing_own = [slurm_task(rank, size) | visible[rank] for rank in ranks]
    seen, apart = ([[rank] for rank in ranks], [[0] for _ in ranks]) if uuids else ([None] * size, [None] * size)
    one = {"environs": seeing_all, "own": seen, "odd": ODD, "check": True}
    return {
        "alike, all see all GPUs": {**one, "odd": {}},
        "alike, each sees its own by UUID": {**one, "odd": {}, "environs": seeing_own, "own": apart},
        "process 1 set differently": one,
        "process 1 set differently, unchecked": {**one, "check": False},
    }


def mpi(rank: int, size: int) -> dict[str, str]:
    """As Open MPI's mpirun -n SIZE sets them."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "SIZE": size, "LOCAL_SIZE": size}
    return {f"OMPI_COMM_WORLD_{name}": str(number) for name, number in numbers.items()}


def slurm_task(rank: int, size: int) -> dict[str, str]:
    """As srun --ntasks=SIZE --gpus-per-task=1 sets them."""
    step = {"JOB_ID": 7, "STEP_NODELIST": "localhost", "PROCID": rank, "LOCALID": rank, "NODEID": 0, "NTASKS": size}
    step |= {"STEP_NUM_TASKS": size, "STEP_TASKS_PER_NODE": size, "GPUS_ON_NODE": size, "GPUS_PER_TASK": 1}
    return {f"SLURM_{name}": str(value) for name, value in step.items()}


def run(job: Mapping[str, Any], wait: float) -> dict[str, Any]:
    """What the processes of a job told, and whether the job ended as it should."""
    port = free_port()
    clean = {name: text for name, text in os.environ.items() if not name.startswith(OF_THE_JOB)}
    command = [sys.executable, __file__, "--member"]
    start = time.perf_counter()
    members = [
        subprocess.Popen(
            [*command, str(rank), str(port), json.dumps(job)],
            env={**clean, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, environ in enumerate(job["environs"])
    ]
    limit = LIMIT_SECONDS if job["check"] else wait
    while any(one.poll() is None for one in members) and time.perf_counter() - start < limit:
        time.sleep(0.1)
    told = [ended(one) for one in stopped(members)]
    return {"seconds": time.perf_counter() - start, "processes": told, "as_expected": is_right(job, told)}


def stopped(members: list[Member]) -> list[tuple[Member, bool]]:
    """Each process, and whether it was still waiting: told of all before the end of one can end another."""
    told = [(one, one.poll() is None) for one in members]
    for one in members:
        one.kill()
    return told


def ended(process: tuple[Member, bool]) -> dict[str, Any]:
    """What a process told and how it ended; "waiting" where it had to be stopped."""
    member_process, waiting = process
    out, err = member_process.communicate()
    if waiting:
        return {"waiting": True}
    lines = out.splitlines()
    return {"status": member_process.returncode, **(json.loads(lines[-1]) if lines else {"stderr": err[-300:]})}


def is_right(job: Mapping[str, Any], told: list[dict[str, Any]]) -> bool:
    """Alike: silence and a common result; different: process 1 named by all. What an unchecked job does is only recorded."""
    if not job["check"]:
        return True
    messages = [message for one in told for message in one.get("findings", [None])]
    if job["odd"]:
        return len(messages) == len(ODD) * len(told) and all(
            message and message.startswith("Process 1 ") for message in messages
        )
    alike = [{"local_device_ids": ids, "sum": float(len(told)), "count": 1} for ids in job["own"]]
    return not messages and [{key: one.get(key) for key in alike[0]} for one in told] == alike


def member(rank: int, port: str, job: Mapping[str, Any]) -> None:
    """One process of a job: configured, joined, checked, and where all is well computing with the other."""
    report = jaxgpu_tune.configure(PRESET, **(job["odd"] if rank == 1 else {}))
    own = report.machine.processes.local_device_ids
    import jax

    jax.distributed.initialize(
        f"127.0.0.1:{port}", len(job["environs"]), rank, own, cluster_detection_method="deactivate"
    )
    told: dict[str, Any] = {"local_device_ids": own, "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}
    start = time.perf_counter()
    findings = jaxgpu_tune.check_processes() if job["check"] else ()
    told |= {"check_seconds": time.perf_counter() - start, "findings": [finding.message for finding in findings]}
    if not findings:
        told |= {"sum": computed_together(), "count": len(jax.local_devices()), "devices": str(jax.local_devices())}
    print(json.dumps(told))


def computed_together() -> float:
    """A product of matrices on each process's device, summed over all: (1/512) x 512 x 1 from each."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = jax.devices()
    everywhere = NamedSharding(Mesh(devices, "x"), PartitionSpec("x"))
    blocks = jax.make_array_from_callback((len(devices), 512, 512), everywhere, lambda _: jnp.ones((1, 512, 512)))
    return float(jax.jit(lambda x: (x @ x / 512).mean(axis=(1, 2)).sum())(blocks))


def show(one: Mapping[str, Any]) -> None:
    """A job in a few lines."""
    print(f"{one['job']}: {'as expected' if one['as_expected'] else 'NOT AS EXPECTED'}, {one['seconds']:.1f} s")
    for rank, told in enumerate(one["processes"]):
        print(f"  process {rank}: {json.dumps(told)[:1000]}")


if __name__ == "__main__":
    sys.exit(main())
