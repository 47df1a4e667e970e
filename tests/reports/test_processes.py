"""Public reports on several processes (facts: reports I and H), each as a test by its number."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.host.gpus import find_gpus
from jaxgpu_tune.host.processes import find_processes, own_devices
from jaxgpu_tune.knowledge.versions import matches
from jaxgpu_tune.planning.files.file_faults import file_faults
from tests.child import told
from tests.fleet import codes, machine
from tests.host.fake_nvml import Card, FakeNvml
from tests.jobs import job

STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n1", "SLURM_NODEID": "0"}
PRESETS = [preset.name for preset in jaxgpu_tune.presets()]


def slurm(local_rank: int, tasks: int, **more: str) -> dict[str, str]:
    """The variables of one task of a step on one node."""
    count = str(tasks)
    rank = {"SLURM_PROCID": str(local_rank), "SLURM_LOCALID": str(local_rank), "SLURM_NTASKS": count}
    return {**STEP, **rank, "SLURM_STEP_NUM_TASKS": count, "SLURM_STEP_TASKS_PER_NODE": count, **more}


def openmpi(local_rank: int, tasks: int, **more: str) -> dict[str, str]:
    """The same of Open MPI 4's mpirun."""
    numbers = {"RANK": local_rank, "LOCAL_RANK": local_rank, "SIZE": tasks, "LOCAL_SIZE": tasks}
    named = {f"OMPI_COMM_WORLD_{name}": str(number) for name, number in numbers.items()}
    return {"OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.1:1", **named, **more}


def own(environ: dict[str, str], cards: int = 8) -> tuple[int, ...] | None:
    """The ids on a host of ``cards`` GPUs, by way of CUDA_VISIBLE_DEVICES."""
    gpus = find_gpus(environ, FakeNvml(*(Card(f"GPU-{i}{i}{i}{i}") for i in range(cards)))).gpus
    assert gpus is not None
    return own_devices(find_processes(environ), len(gpus), environ)


def planned(environ: dict[str, str], cards: int, **more: Any) -> jaxgpu_tune.Report:
    """A plan with that many visible GPUs in that environment."""
    layout = find_processes(environ)
    layout = layout._replace(local_device_ids=own_devices(layout, cards, environ))
    here = machine(count=cards, processes=vars(layout))
    return jaxgpu_tune.plan("auto", machine=here, environ=environ, **more)


def test_R29_the_environment_for_workers_is_complete_and_is_no_other_processs() -> None:
    """Ray, srun and subprocess get all of it; this process keeps its own."""
    before = dict(os.environ)
    final = jaxgpu_tune.environ("auto", base={"PATH": "/bin"}, machine=machine(), preallocate=False)
    assert (final["PATH"], final["XLA_PYTHON_CLIENT_PREALLOCATE"]) == ("/bin", "false")
    assert dict(os.environ) == before


def test_R71_a_process_with_other_flags_is_named_before_anything_is_compiled() -> None:
    """By configure() itself with other arguments: the job would hang at its first compile."""
    code = "import jaxgpu_tune\nlevel = '2' if rank else '4'\n"
    code += "jaxgpu_tune.configure(flags={'xla_gpu_autotune_level': level, 'xla_gpu_enable_triton_gemm': 'false'})\n"
    code += "join()\ntell([f.message for f in jaxgpu_tune.check_processes()])"
    first, second = job(code, [{}, {}])
    assert first == second
    ((message,),) = first
    assert "Process 1" in message and "xla_gpu_autotune_level" in message and "triton" not in message


@pytest.mark.parametrize("preset", PRESETS)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_R72_every_process_of_a_job_gets_the_same_settings(preset: str, data: st.DataObject) -> None:
    """Whatever memory is free on its GPUs, whichever GPUs they are, and whichever process it is."""
    hosts, tasks = data.draw(st.sampled_from([(1, 2), (2, 1), (2, 4), (16, 8)]))
    card, visible = data.draw(st.sampled_from(["H100", "A100", "B200"])), data.draw(st.sampled_from([1, tasks, 8]))
    plans = []
    ranks = data.draw(st.tuples(*[st.integers(0, hosts * tasks - 1)] * 2))
    for rank, free in zip(ranks, (data.draw(st.integers(0, 2**30)), 2**36), strict=True):
        layout = {"rank": rank, "local_rank": rank % tasks, "count": hosts * tasks, "local_count": tasks}
        gpus = [
            {
                **gpu,
                "free_bytes": free,
                "uuid": f"GPU-{rank:08}-{gpu['index']}",
            }
            for gpu in machine(card, visible).to_dict()["gpus"]
        ]
        here = machine(card, visible, gpus=gpus, processes={**layout, "launcher": "slurm"})
        report = jaxgpu_tune.plan(preset, machine=here, environ={}, memory_fraction="auto")
        plans.append((report.xla_flags, report.jax_config, report.environ))
    assert plans[0] == plans[1]


def test_R72_an_uneven_last_node_gets_the_same_flags() -> None:
    """Ten tasks on nodes of four, four and two, each with one of the GPUs that it sees."""
    uneven = {"SLURM_STEP_NUM_TASKS": "10", "SLURM_NTASKS": "10", "SLURM_STEP_TASKS_PER_NODE": "4(x2),2"}
    for preset in PRESETS:
        texts = set()
        for rank, node, local in (("0", "0", "0"), ("9", "2", "1")):
            environ = slurm(int(local), 4, **uneven) | {"SLURM_PROCID": rank, "SLURM_NODEID": node}
            here = machine(count=4, processes=vars(find_processes(environ)))
            texts.add(jaxgpu_tune.plan(preset, machine=here, environ=environ).xla_flags)
        assert len(texts) == 1, preset


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (slurm(0, 1, SLURM_GPUS_ON_NODE="8"), (0, 1, 2, 3, 4, 5, 6, 7)),
        (slurm(3, 8, SLURM_GPUS_ON_NODE="8"), (3,)),
        (slurm(1, 2, SLURM_GPUS_ON_NODE="8"), (4, 5, 6, 7)),
        (slurm(3, 8, SLURM_GPUS_ON_NODE="8", SLURM_GPUS_PER_TASK="1", CUDA_VISIBLE_DEVICES="0"), (0,)),
        (slurm(3, 8, SLURM_GPUS_ON_NODE="8", SLURM_GPUS_PER_TASK="1", CUDA_VISIBLE_DEVICES="3"), (0,)),
        (slurm(1, 2, SLURM_GPUS_ON_NODE="4", SLURM_GPUS_PER_TASK="2", CUDA_VISIBLE_DEVICES="2,3"), (0, 1)),
        (slurm(1, 2, SLURM_GPUS_PER_TASK="h100:2", CUDA_VISIBLE_DEVICES="2,3"), (0, 1)),
        (slurm(1, 2, SLURM_GPUS_ON_NODE="2", CUDA_VISIBLE_DEVICES="2,3"), (1,)),
        (slurm(3, 4, SLURM_GPUS_ON_NODE="2", CUDA_VISIBLE_DEVICES="2,3"), (1,)),
        (slurm(1, 2, SLURM_GPUS_ON_NODE="2", SLURM_GPUS_PER_TASK="2", CUDA_VISIBLE_DEVICES="2,3"), (0, 1)),
        (slurm(3, 8, SLURM_GPUS_ON_NODE="8", SLURM_GPUS_PER_TASK="1"), (3,)),
        (slurm(0, 1, SLURM_GPUS_ON_NODE="8", SLURM_GPUS_PER_TASK="8") | openmpi(3, 8), (3,)),
        (openmpi(1, 2, CUDA_VISIBLE_DEVICES="2,3"), (1,)),
        (openmpi(1, 2, CUDA_VISIBLE_DEVICES="GPU-2222,GPU-3333"), (1,)),
        (openmpi(3, 8), (3,)),
        (openmpi(3, 8, CUDA_VISIBLE_DEVICES="3"), (0,)),
        (openmpi(1, 3), None),
        (openmpi(1, 4, CUDA_VISIBLE_DEVICES="2,3"), None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "3"}, (0, 1, 2, 3, 4, 5, 6, 7)),
        ({"CUDA_VISIBLE_DEVICES": "2,3"}, None),
        ({"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "a,b"}, None),
    ],
)
def test_R83_a_processs_own_gpus_in_jaxs_numbers(environ: dict[str, str], expected: tuple[int, ...] | None) -> None:
    """One for each task, all for one task, its own under --gpus-per-task; never the numbers in CUDA_VISIBLE_DEVICES."""
    assert own(environ) == expected


@given(st.sampled_from([slurm, openmpi]), st.integers(1, 8), st.integers(1, 8))
def test_R83_processes_that_see_the_same_gpus_share_them_out(launch: Any, tasks: int, cards: int) -> None:
    """No GPU twice, none left over, and each of the process's own is one that it sees."""
    parts = [own(launch(rank, tasks), cards) for rank in range(tasks)]
    if None not in parts and cards >= tasks:
        assert sorted(i for part in parts for i in part or ()) == list(range(cards)) or cards == 1


def test_R83_one_task_with_eight_gpus_is_told_that_jax_would_take_one() -> None:
    """And what to pass; nothing is said where jax's choice is right, or the ids are said already."""
    eight = slurm(0, 1, SLURM_GPUS_ON_NODE="8") | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
    (finding,) = [f for f in planned(eight, 8).findings if f.code == "local-devices"]
    assert finding.severity == "warning" and "GPU 0 alone" in finding.message
    assert "local_device_ids=[0, 1, 2, 3, 4, 5, 6, 7]" in finding.hint and "JAX_LOCAL_DEVICE_IDS=0,1" in finding.hint
    assert "one process for each GPU" in finding.hint
    assert "local-devices" not in codes(planned(eight | {"JAX_LOCAL_DEVICE_IDS": "0,1,2,3,4,5,6,7"}, 8))
    assert "local-devices" not in codes(planned(eight, 8, env={"JAX_LOCAL_DEVICE_IDS": "0,1,2,3,4,5,6,7"}))
    assert "local-devices" not in codes(planned(slurm(3, 8), 8))
    alone = [f.severity for f in planned(slurm(0, 1), 8).findings if f.code == "local-devices"]
    assert alone == ["note"], "a job of one process need not initialize"


def test_R83_under_gpus_per_task_the_number_on_the_host_is_no_gpu() -> None:
    """SLURM_LOCALID 3, of one visible GPU: an invalid ordinal."""
    bound = slurm(3, 8, SLURM_GPUS_ON_NODE="8", SLURM_GPUS_PER_TASK="1")
    (finding,) = [f for f in planned(bound, 1).findings if f.code == "local-devices"]
    assert "GPU 3 alone" in finding.message and "see only 1" in finding.message
    assert "local_device_ids=[0]" in finding.hint


@pytest.mark.parametrize(("jaxlib", "told_of"), [("0.11.1", False), ("0.11.2", True)])
def test_R83_open_mpi_5_counts_where_jax_knows_it(jaxlib: str, told_of: bool) -> None:
    """It no longer sets its address, and older jax detects nothing then."""
    environ = {name: text for name, text in openmpi(1, 2).items() if name != "OMPI_MCA_orte_hnp_uri"}
    layout = vars(find_processes(environ)) | {"local_device_ids": [2, 3]}
    report = jaxgpu_tune.plan("auto", machine=machine(count=4, jaxlib=jaxlib, processes=layout), environ=environ)
    assert ("local-devices" in codes(report)) is told_of


def test_R84_local_device_ids_that_are_set_are_respected() -> None:
    """They win over what the launcher's variables tell, and no plan changes them."""
    environ = slurm(1, 2, JAX_LOCAL_DEVICE_IDS="6,7")
    assert own(environ) == (6, 7)
    report = planned(environ, 8)
    assert "JAX_LOCAL_DEVICE_IDS" not in report.environ
    assert not codes(report) & {"local-devices", "bad-local-device-ids", "local-device-ids-unread"}


@pytest.mark.parametrize("text", ["all", "0;1", "GPU-1234", "0,", "8", "0,9", "-1"])
def test_R84_what_jax_would_refuse_is_said_before(text: str) -> None:
    """'all' is no value of the variable: jax converts each part to a number."""
    (finding,) = [f for f in planned({"JAX_LOCAL_DEVICE_IDS": text}, 8).findings if f.code == "bad-local-device-ids"]
    assert finding.severity == "error" and text in finding.message and "0,1,2,3,4,5,6,7" in finding.hint


@pytest.mark.skipif(not matches(">=0.4.33", jaxgpu_tune.detect().jax or "0"), reason="reads no such variable")
def test_R84_the_installed_jax_refuses_all() -> None:
    """So the finding above is right about this jax."""
    code = "import jax\ntry:\n    jax.distributed.initialize('127.0.0.1:1', 1, 0)\nexcept ValueError as e:\n    tell(str(e))"
    assert "invalid literal for int()" in told(code, JAX_LOCAL_DEVICE_IDS="all", JAX_PLATFORMS="cpu")


def test_R84_an_older_jax_does_not_read_the_variable() -> None:
    """From 0.4.33 on."""
    environ = {"JAX_LOCAL_DEVICE_IDS": "0,1"}
    for release, unread in (("0.4.31", True), ("0.4.33", False)):
        report = jaxgpu_tune.plan("auto", machine=machine(jaxlib=release), environ=environ)
        assert ("local-device-ids-unread" in codes(report)) is unread


def test_R85_initialize_still_works_after_configure() -> None:
    """Setting up starts no backend; checking the processes does not either."""
    code = "import jaxgpu_tune\nimport jax\njaxgpu_tune.configure('fsdp')\njoin()\njaxgpu_tune.check_processes()\n"
    code += "from jax._src import xla_bridge\ntell([len(xla_bridge._backends), jax.process_count()])"
    assert job(code, [{}, {}]) == [[[0, 2]], [[0, 2]]]


def test_R85_initialize_behind_the_start_is_told_of_a_file() -> None:
    """R26: an array made at the top of a module is a start."""
    text = "import jax, jax.numpy as jnp\nKEY = jnp.zeros(1)\njax.distributed.initialize()\n"
    (fault,) = file_faults(text, "python", checker("0.11.2"), migrator("0.11.2"))
    assert (fault.place.line, fault.finding.code) == (3, "too-late")
    assert "(line 2: jnp.zeros()): it raises RuntimeError" in fault.finding.message


@pytest.mark.parametrize(("mode", "code"), [(3, "gpu-exclusive"), (1, "gpu-exclusive"), (2, "gpu-prohibited"), (0, "")])
def test_R86_several_processes_on_a_gpu_of_one_user(mode: int, code: str) -> None:
    """By NVML's compute mode; one process for each GPU is no problem, an unknown mode none that is known."""
    (gpu,) = find_gpus({}, FakeNvml(Card("GPU-1", compute_mode=mode))).gpus or ()
    four = slurm(1, 4, SLURM_GPUS_ON_NODE="1")
    here = machine(count=1, gpus=[vars(gpu)], processes=vars(find_processes(four)))
    found = codes(jaxgpu_tune.plan("auto", machine=here, environ=four)) & {"gpu-exclusive", "gpu-prohibited"}
    assert found == ({code} if code else set())
    alone = jaxgpu_tune.plan("auto", machine=here._replace(processes=machine().processes), environ={})
    assert ("gpu-exclusive" in codes(alone)) is False
    shared = jaxgpu_tune.plan("auto", machine=here, environ={}, processes_per_gpu=2)
    assert ("gpu-exclusive" in codes(shared)) is (code == "gpu-exclusive")


def test_R86_tasks_that_share_a_gpu_are_told_to_share_its_memory() -> None:
    """Four tasks see the one GPU of their node; silent once anything is said about memory, and under --gpus-per-task."""
    four = slurm(1, 4, SLURM_GPUS_ON_NODE="1")
    (finding,) = [f for f in planned(four, 1).findings if f.code == "gpu-shared"]
    assert finding.severity == "warning" and "processes_per_gpu=4" in finding.hint
    for said in ({"processes_per_gpu": 4}, {"preallocate": False}, {"memory_fraction": 0.2}, {"allocator": "platform"}):
        assert "gpu-shared" not in codes(planned(four, 1, **said)), said
    assert "gpu-shared" not in codes(planned(four | {"SLURM_GPUS_PER_TASK": "1"}, 1))
    assert "gpu-shared" not in codes(planned(slurm(1, 4, SLURM_GPUS_ON_NODE="4"), 4))


@pytest.mark.parametrize(("environ", "told"), [({}, True), ({"CUDA_VISIBLE_DEVICES": "0"}, False)])
@pytest.mark.parametrize("launcher", ["openmpi", "pmi", "torchrun", "kubernetes", "slurm"])
def test_R86_mpirun_on_one_gpu_is_told_too(launcher: str, environ: dict[str, str], told: bool) -> None:
    """It hides no GPU from its processes; a variable does: https://github.com/jax-ml/jax/issues/10021"""
    layout = {"rank": 1, "local_rank": 1, "count": 4, "local_count": 4, "launcher": launcher}
    here = machine(count=1, processes=layout)
    found = codes(jaxgpu_tune.plan("auto", machine=here, environ=environ))
    assert ("gpu-shared" in found) is (told and launcher not in ("kubernetes", "slurm"))
    assert "gpu-shared" not in codes(jaxgpu_tune.plan("auto", machine=machine(count=4, processes=layout), environ={}))


def test_R86_an_unknown_mode_is_unknown() -> None:
    """As in WSL, whose driver may not tell it."""
    (gpu,) = find_gpus({}, FakeNvml(Card("GPU-1", compute_mode=None))).gpus or ()
    assert gpu.compute_mode is None
    here = machine(count=1, gpus=[vars(gpu)])
    assert not codes(jaxgpu_tune.plan("auto", machine=here, processes_per_gpu=2)) & {"gpu-exclusive", "gpu-prohibited"}


def test_R87_a_process_of_a_job_is_observed_and_compared_without_starting_another() -> None:
    """No fork beside JAX's threads."""
    watch = "import sys\nseen = []\nSTART = ('os.fork', 'os.posix_spawn', 'os.system', 'subprocess.Popen')\njoin()\n"
    watch += "sys.addaudithook(lambda event, args: seen.append(event) if event in START else None)\n"
    code = watch + "import jaxgpu_tune\njaxgpu_tune.configure()\njaxgpu_tune.check_processes()\ntell(seen)"
    assert job(code, [{}, {}]) == [[[]], [[]]]


@pytest.mark.parametrize(
    ("processes", "devices", "expected"),
    [
        ({}, None, 1),
        ({}, 64, 8),
        ({"launcher": "kubernetes", "local_count": 1}, None, None),
        ({"launcher": "kubernetes", "local_count": 1}, 64, 8),
        ({"launcher": "slurm", "count": 2, "local_count": 1}, None, 2),
    ],
)
def test_a_number_of_processes_that_no_launcher_tells(
    processes: Any, devices: int | None, expected: int | None
) -> None:
    """One process where there is no launcher; unknown, and so not met, where the launcher hides it."""
    report = jaxgpu_tune.plan("decode", machine=machine(processes=processes), devices=devices, environ={})
    unmet = " ".join(d.reason for d in report.decisions if d.status == "unmet")
    assert ("The number of processes in this job is unknown" in unmet) is (expected is None)
    assert (f"{expected} processes in this job do not meet" in unmet) is (expected not in (None, 1))
    assert ("processes-unknown" in codes(report)) is (expected is None)


@pytest.mark.parametrize(
    ("launcher", "environ", "told"),
    [
        ("variables", {"JAX_PROCESS_ID": "9", "JAX_NUM_PROCESSES": "4"}, "JAX_PROCESS_ID=9, JAX_NUM_PROCESSES=4"),
        ("variables", {"JAX_PROCESS_ID": "0", "JAX_NUM_PROCESSES": "four"}, "JAX_PROCESS_ID=0, JAX_NUM_PROCESSES=four"),
        ("torchrun", {"LOCAL_RANK": "0", "RANK": "4", "WORLD_SIZE": "4"}, "RANK=4, WORLD_SIZE=4"),
        ("kubernetes", {"JOB_COMPLETION_INDEX": "0", "KUBERNETES_SERVICE_HOST": "h"}, "kubernetes does not tell"),
    ],
)
def test_a_rank_out_of_range_is_called_that(launcher: str, environ: dict[str, str], told: str) -> None:
    """With the variables that say so, and no name that only this library knows."""
    layout = find_processes(environ)
    assert (layout.launcher, layout.count) == (launcher, None)
    report = jaxgpu_tune.plan("auto", machine=machine(processes=vars(layout)), environ=environ)
    (finding,) = [f for f in report.findings if f.code == "processes-unknown"]
    assert finding.message.startswith(told) and "variables does" not in finding.message
