"""The layout of the job by the variables of each launcher."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.host.processes import find_processes, own_devices
from jaxgpu_tune.model import Processes

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[1-3]",
    "SLURM_PROCID": "9",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
    "SLURM_STEP_NUM_TASKS": "10",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2),2",
}
TORCH = {"RANK": "5", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
OPENMPI = {
    f"OMPI_COMM_WORLD_{name}": value
    for name, value in (("RANK", "3"), ("SIZE", "8"), ("LOCAL_RANK", "1"), ("LOCAL_SIZE", "2"))
}
HYDRA = {"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
PMIX = {"PMIX_RANK": "3", "PMIX_SIZE": "8", "PMIX_LOCAL_RANK": "1", "PMIX_LOCAL_SIZE": "2"}
STEP = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_PROCID")
NAMES = sorted(
    {
        *SLURM,
        *TORCH,
        *OPENMPI,
        *HYDRA,
        "SLURM_NTASKS",
        "JOB_COMPLETION_INDEX",
        "KUBERNETES_SERVICE_HOST",
        "TORCHELASTIC_RUN_ID",
    }
)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (SLURM, Processes(9, 1, 10, 2, "slurm")),
        (TORCH, Processes(5, 1, 16, 4, "torchrun")),
        (OPENMPI, Processes(3, 1, 8, 2, "openmpi")),
        (HYDRA, Processes(3, 1, 8, 2, "pmi")),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "3"}, Processes(3, 0, None, 1, "kubernetes")),
        (PMIX, Processes(3, 1, 8, 2, "pmi")),
        ({"JAX_NUM_PROCESSES": "4", "JAX_PROCESS_ID": "1"}, Processes(1, None, 4, None, "variables")),
        ({}, Processes()),
    ],
    ids=["slurm", "torchrun", "openmpi", "hydra", "kubernetes", "pmix", "variables", "none"],
)
def test_launchers(environ: dict[str, str], expected: Processes) -> None:
    """Each by its own variables."""
    assert find_processes(environ) == expected


@pytest.mark.parametrize(
    "part",
    [
        *({name: SLURM[name] for name in SLURM if name != left_out} for left_out in STEP),
        {"JOB_COMPLETION_INDEX": "3"},
        {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
        {"JAX_NUM_PROCESSES": "4"},
        {"JAX_PROCESS_ID": "1"},
        {"RANK": "5", "WORLD_SIZE": "16"},
    ],
)
def test_a_part_of_a_launchers_variables_is_no_launcher(part: dict[str, str]) -> None:
    """Others set the same names, one by one."""
    assert find_processes(part) == Processes()


def test_a_batch_shell_is_no_step() -> None:
    """sbatch and salloc state the job's tasks, and are one process."""
    shell = {
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "8",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NTASKS_PER_NODE": "8",
    }
    assert find_processes(shell).count is None


@pytest.mark.parametrize(
    "inner", [TORCH | {"TORCHELASTIC_RUN_ID": "x"}, OPENMPI, HYDRA], ids=["torchrun", "openmpi", "hydra"]
)
def test_what_srun_starts_once_a_node_beats_sruns_own_numbers(inner: dict[str, str]) -> None:
    """The workers inherit SLURM_PROCID of the daemon or agent that started them."""
    assert find_processes(SLURM | inner) == find_processes(inner)


@pytest.mark.parametrize("own", [{"PMI_RANK": "3", "PMI_SIZE": "8"}, PMIX, TORCH], ids=["pmi", "pmix", "torchrun"])
def test_srun_beats_what_stands_in_its_tasks_environment(own: dict[str, str]) -> None:
    """SLURM's own PMI names the same task; LOCAL_RANK is set by scripts for other libraries."""
    assert find_processes(SLURM | own) == find_processes(SLURM)


def test_a_launcher_in_a_pod_beats_the_pods_index() -> None:
    """torchrun and MPI start several processes in each."""
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "3"}
    for inner in (TORCH, OPENMPI, HYDRA):
        assert find_processes(pod | inner) == find_processes(inner)
    named = {"JAX_NUM_PROCESSES": "4", "JAX_PROCESS_ID": "1"}
    assert find_processes(pod | named) == Processes(1, 0, 4, 1, "kubernetes")


@pytest.mark.parametrize(("rank", "count"), [(0, 1), (1, 2), (7, 8)])
def test_the_last_rank_is_one_below_the_count(rank: int, count: int) -> None:
    """Of the job and of the host; the same number is a contradiction."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    for job, host in ((rank, rank), (count, rank), (rank, count)):
        found = find_processes(dict(zip(names, map(str, (job, count, host, count)), strict=True)))
        assert (found.rank, found.count) == ((job, count) if job < count else (None, None))
        assert (found.local_rank, found.local_count) == ((host, count) if host < count else (None, None))


@pytest.mark.parametrize(
    "wrong",
    [
        {"SLURM_PROCID": "10"},
        {"SLURM_PROCID": "x"},
        {"SLURM_STEP_NUM_TASKS": "9" * 5000},
        {"SLURM_STEP_NUM_TASKS": "1"},
    ],
)
def test_contradictions_are_unknown(wrong: dict[str, str]) -> None:
    """Never a rank that is not below its count, nor more local processes than there are."""
    found = find_processes(SLURM | wrong)
    assert None in (found.rank, found.count)


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.one_of(st.integers(-1, 20).map(str), st.text("019x-()+, \u0663", max_size=6), st.just("4(x2),2")),
    )
)
def test_laws(environ: dict[str, str]) -> None:
    """Never raises, and what is known is consistent."""
    found = find_processes(environ)
    for rank, count in ((found.rank, found.count), (found.local_rank, found.local_count)):
        assert rank is None or (rank >= 0 and (count is None or rank < count))
    assert found.count is None or found.local_count is None or found.local_count <= found.count


@pytest.mark.parametrize(
    ("node", "layout", "local_count"),
    [("0", "4(x2),2", 4), ("1", "4(x2),2", 4), ("2", "4(x2),2", 2), ("3", "4(x2),2", None), ("1", "2,3,5", 3)],
)
def test_different_numbers_of_tasks_on_the_nodes(node: str, layout: str, local_count: int | None) -> None:
    """SLURM_NODEID tells which number is this node's; beyond the layout there is none."""
    step = SLURM | {
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": node,
        "SLURM_STEP_TASKS_PER_NODE": layout,
    }
    assert find_processes(step).local_count == local_count


def test_a_long_layout_is_not_written_out() -> None:
    """Its text is short, its nodes may be many."""
    layout = SLURM | {"SLURM_STEP_TASKS_PER_NODE": "1(x999999)," * 2000 + "2", "SLURM_NODEID": "1999998000"}
    assert find_processes(layout).local_count == 2


@pytest.mark.parametrize(
    ("layout", "local_count"),
    [
        ({"SLURM_TASKS_PER_NODE": "4(x2),2"}, 2),
        ({"SLURM_NTASKS_PER_NODE": "5"}, 5),
        ({"SLURM_NNODES": "1"}, 10),
        ({"SLURM_NNODES": "2"}, None),
        ({"SLURM_STEP_TASKS_PER_NODE": "12"}, None),
    ],
)
def test_what_else_slurm_says_of_a_node(layout: dict[str, str], local_count: int | None) -> None:
    """Where the step's own layout is not there; more tasks on a node than in the step contradict it."""
    step = {name: value for name, value in SLURM.items() if name != "SLURM_STEP_TASKS_PER_NODE"} | layout
    assert find_processes(step).local_count == local_count


@given(st.integers(1, 16), st.integers(1, 16), st.data())
def test_processes_of_a_host_share_out_what_all_see(gpus: int, count: int, data: st.DataObject) -> None:
    """In equal parts that are all of it together; where that does not come out even, it is not known."""
    layouts = [Processes(local_rank=rank, local_count=count, launcher="openmpi") for rank in range(count)]
    parts = [own_devices(layout, gpus, {}) for layout in layouts]
    if gpus == 1 or count == 1:
        assert parts == [tuple(range(gpus))] * count
    elif gpus % count:
        assert set(parts) == {None}
    else:
        assert [number for part in parts for number in part or ()] == list(range(gpus))
        assert len({len(part or ()) for part in parts}) == 1
    alone = data.draw(st.sampled_from(layouts))
    assert own_devices(alone._replace(launcher=None), gpus, {}) is None
    assert own_devices(alone, 0, {}) is own_devices(alone, None, {}) is None
    for unknown in ({"local_rank": None}, {"local_count": None}):
        assert own_devices(alone._replace(**unknown), gpus, {}) == (
            (0,) if gpus == 1 else tuple(range(gpus)) if count == 1 and unknown == {"local_rank": None} else None
        )


TWO = Processes(local_rank=1, local_count=2, launcher="slurm")


@pytest.mark.parametrize(
    ("layout", "visible", "environ", "own"),
    [
        (TWO, 8, {}, (4, 5, 6, 7)),
        (TWO, 8, {"JAX_LOCAL_DEVICE_IDS": "2,0"}, (2, 0)),
        (Processes(), None, {"JAX_LOCAL_DEVICE_IDS": "3"}, (3,)),
        (TWO, 8, {"JAX_LOCAL_DEVICE_IDS": "all"}, (4, 5, 6, 7)),
        (TWO, 8, {"JAX_LOCAL_DEVICE_IDS": "-1"}, (4, 5, 6, 7)),
        (TWO, 4, {"SLURM_GPUS_PER_TASK": "4"}, (0, 1, 2, 3)),
        (TWO, 4, {"SLURM_GPUS_PER_TASK": "h100:4"}, (0, 1, 2, 3)),
        (TWO, 4, {"SLURM_GPUS_PER_TASK": "2"}, (2, 3)),
        (TWO._replace(launcher="openmpi"), 4, {"SLURM_GPUS_PER_TASK": "4"}, (2, 3)),
        (TWO, 4, {"SLURM_GPUS_ON_NODE": "8"}, (0, 1, 2, 3)),
        (TWO, 4, {"SLURM_GPUS_ON_NODE": "4"}, (2, 3)),
        (TWO, 4, {"SLURM_GPUS_ON_NODE": "eight"}, (2, 3)),
        (TWO._replace(local_rank=5, local_count=8), 4, {"SLURM_GPUS_ON_NODE": "4"}, (1,)),
        (TWO._replace(local_rank=5, local_count=8), 4, {}, None),
    ],
)
def test_the_gpus_of_one_process(
    layout: Processes, visible: int | None, environ: dict[str, str], own: tuple[int, ...] | None
) -> None:
    """What is said holds; SLURM gives each task its own, or all see the same (R83)."""
    assert own_devices(layout, visible, environ) == own
