"""What every form of a report shares: order, grouping, wording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Decision, Gpu, Machine, Processes, Report
from jaxgpu_tune.render.parts import (
    IN_FORCE,
    by_owner,
    change,
    decisions_in_force,
    grouped,
    label,
    machine_facts,
    machine_line,
)
from tests.render.written import FULL

STATUSES = ("set", "kept", "merged", "default", "absent", "unmet", "translated", "dropped", "removed", "late")
ORIGINS = {"preset fsdp": "preset", "argument flags": "argument", "XLA_FLAGS": "existing", "fault old-nccl": "fault"}
DECISIONS = st.lists(
    st.builds(
        Decision,
        kind=st.sampled_from(["xla_flag", "env", "jax_config"]),
        name=st.sampled_from("abc"),
        value=st.sampled_from([None, "", "1"]),
        status=st.sampled_from(STATUSES),
        reason=st.just("why"),
        source=st.sampled_from(sorted(ORIGINS)),
    ),
    unique=True,
).map(lambda decisions: [one._replace(origin=ORIGINS[one.source]) for one in decisions])


def report(*decisions: Decision) -> Report:
    """With these decisions."""
    return Report(
        preset="fsdp", machine=Machine(), xla_flags="", environ={}, jax_config={}, decisions=decisions, findings=()
    )


@given(DECISIONS)
def test_each_decision_is_in_force_or_in_one_group(decisions: list[Decision]) -> None:
    shown = report(*decisions)
    above, below = decisions_in_force(shown), [one for group in grouped(shown).values() for one in group]
    assert sorted(map(repr, (*above, *below))) == sorted(map(repr, decisions))
    assert {one.status for one in above} <= IN_FORCE | {"dropped", "late"}
    assert all(one.status == status for status, group in grouped(shown).items() for one in group)
    assert {one.status for one in below} <= {"default", "absent", "unmet"}


@given(DECISIONS)
def test_what_changes_is_told_by_who_wants_it(decisions: list[Decision]) -> None:
    """What stays, and what a preset cannot have, is no change."""
    groups = by_owner(report(*decisions))
    told = [one for group in groups.values() for one in group]
    for one in decisions:
        changes = one.status in ("set", "merged") or (
            one.status in ("removed", "translated", "dropped", "late") and not one.source.startswith("preset")
        )
        assert (one in told) is changes
    heads = {
        "preset fsdp": "Set by preset fsdp:",
        "argument flags": "Asked for (argument flags):",
        "XLA_FLAGS": "Of what was set already:",
        "fault old-nccl": "Set against a fault of an installed package (old-nccl):",
    }
    assert all(heads[one.source] == head for head, group in groups.items() for one in group)


@pytest.mark.parametrize(
    ("status", "value", "text"),
    [
        ("set", "1", "--a=1"),
        ("set", "", "--a="),
        ("merged", "1,2", "--a=1,2"),
        ("merged", None, "--a: merged"),
        ("translated", "--b=1", "--a: now --b=1"),
        ("translated", None, "--a: taken out, nothing replaces it here"),
        ("dropped", "1", "--a: dropped (1)"),
        ("removed", None, "--a: removed"),
    ],
)
def test_a_change_as_one_types_it(status: str, value: str | None, text: str) -> None:
    decision = Decision("xla_flag", "a", value, status, "", "")
    assert change(decision) == text and label(decision) == "--a"
    assert label(decision._replace(kind="env")) == "a"


def test_the_machine_in_one_line() -> None:
    gpus = tuple(Gpu(i, name="H200", compute_capability="9.0", memory_bytes=141 << 30) for i in range(2))
    machine = Machine(
        gpus=(*gpus, Gpu(2, vgpu=True)), driver="580", cuda_driver="13.0", nccl="2.28", jax="0.11.2", wsl=True
    )
    assert machine_line(machine._replace(plugins={"b": "2", "a": "1"})) == (
        "2 x H200 (cc 9.0, 141 GiB), 1 x unknown GPU (cc unknown, unknown size, vGPU), driver 580, CUDA 13.0, NCCL 2.28, "
        "jax 0.11.2, jaxlib unknown, a 1, b 2, WSL2"
    )
    assert machine_facts(Machine()) == ["GPUs unknown", "jax unknown", "jaxlib unknown"]
    assert machine_facts(Machine(gpus=()))[0] == "no GPU"


@pytest.mark.parametrize(
    ("processes", "text"),
    [
        (Processes(), None),
        (Processes(rank=0, count=1, launcher="slurm"), None),
        (Processes(rank=1, count=2), "process 1 of 2"),
        (Processes(count=4, launcher="slurm"), "process unknown of 4 (slurm)"),
        (Processes(rank=0, count=2, launcher="slurm", local_device_ids=(0,)), "process 0 of 2 (slurm), its own GPU 0"),
        (Processes(rank=0, count=2, local_device_ids=(0, 1)), "process 0 of 2, its own GPUs 0,1"),
        (Processes(rank=0, count=2, local_device_ids=(0, 1, 2, 3)), "process 0 of 2"),
    ],
)
def test_a_process_among_others(processes: Processes, text: str | None) -> None:
    """One alone is not worth a word, nor GPUs that are all that are there."""
    found = machine_facts(Machine(gpus=tuple(map(Gpu, range(4))), processes=processes))
    assert found[3:] == ([] if text is None else [text])


def test_the_machine_is_one_line() -> None:
    """Equal GPUs are counted; the process is named only where there are several."""
    assert machine_line(FULL.machine) == (
        "2 x NVIDIA H100 (cc 9.0, 80 GiB), jax unknown, jaxlib 0.5.1, jax-cuda12-pjrt 0.5.1, process 1 of 2 (slurm)"
    )
    assert machine_line(Machine(gpus=())).startswith("no GPU, ")
