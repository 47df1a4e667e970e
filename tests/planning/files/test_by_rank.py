"""What some processes of a job set alone."""

from __future__ import annotations

import pytest

from tests.planning.files.test_file_faults import found

LEVEL, SET = "--xla_gpu_autotune_level=2", "export XLA_FLAGS=--xla_gpu_autotune_level=2"
PYTHON = "os.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=2'"


def apart(text: str, kind: str) -> list[int]:
    """The lines that set something so."""
    return [line for line, _, code in found(text, kind) if code == "set-by-rank"]


@pytest.mark.parametrize(
    "text",
    [
        f"[ $SLURM_PROCID = 0 ] && {SET}",
        f'[[ "${{RANK}}" -eq 0 ]] && {SET}; python t.py',
        f"if [ 0 -eq $OMPI_COMM_WORLD_RANK ]; then {SET}; fi",
        f'if test "$JAX_PROCESS_ID" != 0; then {SET}; else true; fi',
        f"if [ $RANK = 0 ]; then true; else {SET}; fi",
        f"if [ $RANK = 0 ]; then true; elif [ $A = 1 ]; then true; else {SET}; fi",
        f"srun bash -c 'if [ $SLURM_PROCID -eq 0 ]; then {SET}; fi; python t.py'",
        f"case $SLURM_LOCALID in 0) {SET};; esac",
        "(( $RANK == 0 )); if (( $RANK == 0 )); then export NCCL_ALGO=Ring; fi",
    ],
)
def test_a_script_that_sets_it_for_one_process(text: str) -> None:
    assert apart(f"{text}\n", "shell") == [1]


@pytest.mark.parametrize(
    "text",
    [
        SET,
        f"if [ -z $SLURM_PROCID ]; then {SET}; fi",
        f'[ -n "$RANK" ] && {SET}',
        f"# if [ $RANK = 0 ]; then {SET}; fi",
        f"if [ $RANK = 0 ]; then echo first; fi\n{SET}",
        "[ $RANK = 0 ] && export XLA_FLAGS=--xla_dump_to=/x NCCL_DEBUG=INFO",
        f"if [ $A = 0 ]; then {SET}; fi",
    ],
)
def test_a_script_that_sets_the_same_for_all(text: str) -> None:
    """Or what may differ: where to dump, what to say."""
    assert apart(f"{text}\n", "shell") == []


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("rank == 0", True),
        ("not args.local_rank", True),
        ("int(os.environ['SLURM_PROCID']) == 0", True),
        ("jax.process_index() == 0", True),
        ("'RANK' in os.environ", False),
        ("rank is None", False),
        ("os.environ['MODE'] == 'x'", False),
    ],
)
def test_a_program_that_sets_it_for_one_process(test: str, told: bool) -> None:
    program = f"if {test}:\n    a = 1\n    {PYTHON}\nelse:\n    pass\n"
    assert apart(program, "python") == [3] * told
    others = f"if {test}:\n    pass\nelse:\n    a = 1\n    {PYTHON}\n"
    assert apart(others, "python") == [5] * told


def test_what_is_said_of_it() -> None:
    """R71, R72: it names the flag that differs, not its neighbours that may."""
    text = f"if [ $RANK = 0 ]; then export XLA_FLAGS='--xla_dump_to=/x {LEVEL}'; fi\n"
    assert found(text) == [(1, "warning", "set-by-rank")]


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_a_program_with_the_line_ends_of_other_systems_is_read_too(ending: str) -> None:
    """A lone carriage return is a line's end for Python; it ended the check with an IndexError."""
    assert len(apart(f"import os\nif rank == 0:\n    {PYTHON}\n".replace("\n", ending), "python")) == 1
