"""Processes of a job and the GPUs they share: which GPU jax would take, what one may be used by, and how many there are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge.families import launchers
from jaxgpu_tune.model import Finding, Machine, Observation, Processes
from jaxgpu_tune.planning.findings.job_faults import OPEN_MPI, OPEN_MPI_RANK, SLURM, check_layout
from jaxgpu_tune.planning.request import make_request
from tests.fleet import machine

IDS = "JAX_LOCAL_DEVICE_IDS"


def told(here: Machine, environ: dict[str, str] | None = None, **arguments: Any) -> dict[str, Finding]:
    """Code -> finding."""
    request = make_request("auto", arguments)
    return {one.code: one for one in check_layout(Observation(here, environ or {}), request)}


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=3), st.sampled_from([None, 0, 1, 4]), st.booleans())
def test_local_ids_count_what_is_visible(ids: list[int], count: int | None, asked: bool) -> None:
    """From 0; set already or asked for alike. Where no GPU is known, none is too many."""
    here = machine(count=count or 0)._replace(**({"gpus": None} if count is None else {}))
    text = ",".join(map(str, ids))
    found = told(here, {} if asked else {IDS: text}, **({"env": {IDS: text}} if asked else {}))
    beyond = [str(one) for one in ids if one < 0 or (count and one >= count)]
    assert set(found) == ({"bad-local-device-ids"} if beyond else set())
    if beyond:
        one = found["bad-local-device-ids"]
        assert one.severity == "error" and f"names GPU {','.join(beyond)}, " in one.message
        assert (f"Allowed here: {','.join(map(str, range(count or 0)))}." in one.hint) is bool(count)


@pytest.mark.parametrize("text", ["all", "0,", "0 1", "a,1"])
def test_what_is_no_list_of_numbers(text: str) -> None:
    found = told(machine(count=2), {IDS: text})["bad-local-device-ids"]
    assert "raises ValueError" in found.message and found.hint.endswith("Allowed here: 0,1.")


@pytest.mark.parametrize(("jax", "unread"), [("0.4.31", True), ("0.4.33", False), (None, False)])
def test_only_newer_jax_reads_local_ids(jax: str | None, unread: bool) -> None:
    found = told(machine(count=2)._replace(jax=jax), {IDS: "1"})
    assert set(found) == ({"local-device-ids-unread"} if unread else set())
    assert not unread or found["local-device-ids-unread"].hint == "Pass local_device_ids=[1] instead."


@given(
    st.integers(0, 3),
    st.sampled_from([None, (0,), (1,), (0, 1)]),
    st.sampled_from(["slurm", "openmpi", "newer openmpi", "none"]),
    st.sampled_from([0, 1, 2, 4]),
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_the_gpu_that_jax_would_take_is_told_where_it_is_not_the_own(
    local: int, own: Any, launcher: str, gpus: int, count: int, cpu: bool
) -> None:
    """By SLURM's local number where all its variables are there, by Open MPI's where jax knows that; not on the CPU."""
    environ = {**dict.fromkeys(SLURM, "0"), "SLURM_LOCALID": str(local)} if launcher == "slurm" else {}
    environ |= {OPEN_MPI_RANK: str(local)} if "openmpi" in launcher else {}
    environ |= {OPEN_MPI: "uri"} if launcher == "openmpi" else {}
    jax = "0.11.2" if launcher == "newer openmpi" else "0.11.1"
    processes = Processes(rank=0, count=count, local_count=1, local_device_ids=own, launcher="slurm")
    here = machine(count=gpus, jax=jax, jaxlib=jax)._replace(processes=processes)
    found = told(here, environ, **({"platform": "cpu"} if cpu else {})).get("local-devices")
    assert (found is not None) is (own not in (None, (local,)) and launcher != "none" and gpus > 0 and not cpu)
    if found is not None:
        assert found.severity == ("note" if count == 1 else "warning")
        assert f"GPU {local} alone" in found.message and ("would not start" in found.message) is (local >= gpus)
        assert found.hint.startswith(f"Pass local_device_ids={list(own)}, or set {IDS}={','.join(map(str, own))}")
        assert ("one process for each GPU" in found.hint) is (len(own) > 1)


@pytest.mark.parametrize("missing", SLURM)
def test_without_one_of_slurms_variables_jax_takes_all(missing: str) -> None:
    here = machine(count=4)._replace(processes=Processes(0, 0, 4, 4, "slurm", (1,)))
    environ = {name: "0" for name in SLURM if name != missing}
    assert "local-devices" not in told(here, environ) and "local-devices" in told(here, dict.fromkeys(SLURM, "0"))


@given(
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
    st.sampled_from(
        [(0.75, {}), (0.3, {"XLA_CLIENT_MEM_FRACTION": ".3"}), (0, {"XLA_PYTHON_CLIENT_PREALLOCATE": "0"})]
    ),
)
def test_processes_that_share_a_gpu_need_a_share_of_its_memory(
    tasks: int, gpus: int, said: int | None, per_task: bool, memory: tuple[float, dict[str, str]]
) -> None:
    """As said, or as SLURM tells: all tasks see all GPUs of the node. R34: six with 0.3 each are too many."""
    share, variables = memory
    here = machine(count=gpus)._replace(processes=Processes(0, 0, tasks, tasks, "slurm", None))
    environ = {"SLURM_GPUS_ON_NODE": str(gpus), **({"SLURM_GPUS_PER_TASK": "1"} if per_task else {})}
    environ |= variables
    found = told(here, environ, **({"processes_per_gpu": said} if said else {})).get("gpu-shared")
    shared = 1 if per_task else -(-tasks // gpus)
    assert (found is not None) is (said is None and shared > 1 and share * shared > 1)
    assert found is None or f"reserve {100 * share:g} %" in found.message
    assert found is None or f"processes_per_gpu={shared} or" in found.hint


@given(st.sampled_from([None, "default", "prohibited", "exclusive_process", "exclusive_thread"]), st.integers(1, 2))
def test_a_gpu_for_one_user(mode: str | None, per_gpu: int) -> None:
    here = machine(count=1)
    here = here._replace(gpus=tuple(gpu._replace(compute_mode=mode) for gpu in here.gpus or ()))
    found = told(here, processes_per_gpu=per_gpu)
    exclusive = str(mode).startswith("exclusive") and per_gpu == 2
    assert set(found) == ({"gpu-prohibited"} if mode == "prohibited" else {"gpu-exclusive"} if exclusive else set())
    assert {one.severity for one in found.values()} <= {"error" if mode == "prohibited" else "warning"}


@pytest.mark.parametrize("launcher", launchers())
def test_a_number_of_processes_that_nobody_tells(launcher: str) -> None:
    """What is told wrong is shown with its variables; ``devices=`` makes it needless."""
    ranks, counts = launchers()[launcher].rank, launchers()[launcher].count
    here = machine()._replace(processes=Processes(launcher=launcher))
    silent = told(here)["processes-unknown"]
    assert "does not tell how many" in silent.message and "JAX_NUM_PROCESSES" in silent.hint
    assert ("the environment does not" in silent.message) is (launcher == "variables")
    wrong = told(here, {ranks[0]: "9", counts[-1]: "2"})["processes-unknown"]
    assert wrong.message.startswith(f"{ranks[0]}=9, {counts[-1]}=2: a rank is") and "Correct them" in wrong.hint
    assert told(here, devices=8) == {} == told(here._replace(processes=Processes(0, 0, 2, 2, launcher)))
    assert told(here._replace(processes=Processes())) == {}
