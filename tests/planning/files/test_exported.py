"""What a script assigns and does not export."""

from __future__ import annotations

import subprocess

import pytest

from jaxgpu_tune.planning.files.exported import is_kept_back, own_command
from tests.planning.files.test_commands import found

SHOW = "env"


def printed(script: str) -> str:
    """By bash, in an empty environment."""
    shell = ["bash", "-c", script]
    done = subprocess.run(shell, env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        ("NCCL_DEBUG=INFO\n{}\n", False),
        ("cd .; A=1 NCCL_DEBUG=INFO # so\n{}\n", False),
        ("if true; then NCCL_DEBUG=INFO; fi\n{}\n", False),
        ('NCCL_DEBUG="$NCCL_DEBUG INFO" && {}\n', False),
        ("export NCCL_DEBUG=INFO\n{}\n", True),
        ("NCCL_DEBUG=INFO\nexport A NCCL_DEBUG\n{}\n", True),
        ("export NCCL_DEBUG\nNCCL_DEBUG=INFO\n{}\n", True),
        ("set -a\nNCCL_DEBUG=INFO\n{}\n", True),
        ("set -eo allexport\nNCCL_DEBUG=INFO\n{}\n", True),
        ("NCCL_DEBUG=INFO {}\n", True),
        ("NCCL_DEBUG=INFO \\\n  {}\n", True),
        ("env NCCL_DEBUG=INFO {}\n", True),
        ('NCCL_DEBUG=INFO\nenv NCCL_DEBUG="$NCCL_DEBUG" {}\n', True),
    ],
)
def test_it_is_told_as_the_shell_has_it(script: str, seen: bool) -> None:
    """What a program sees that the script starts."""
    text = script.format(SHOW)
    assert ("INFO" in printed(text)) is seen
    assert (
        is_kept_back(
            text, text.index("NCCL_DEBUG=INFO") if "=INFO" in text else text.index("NCCL_DEBUG="), "NCCL_DEBUG"
        )
        is not seen
    )


@pytest.mark.parametrize(
    ("script", "stays"),
    [
        ("export NCCL_DEBUG=INFO\n{}\n", True),
        ("export A=1 NCCL_DEBUG=INFO; {}\n", True),
        ("if true; then export NCCL_DEBUG=INFO; fi\n{}\n", True),
        ("export NCCL_DEBUG\nA=1 NCCL_DEBUG=INFO B='x y' \\\n  C=2\n{}\n", True),
        ('eval "export NCCL_DEBUG=INFO"\n{}\n', True),
        ("NCCL_DEBUG=INFO true\n{}\n", False),
        ("A=1 NCCL_DEBUG=INFO B='x y' true && {}\n", False),
        ("NCCL_DEBUG=INFO \\\n  true; {}\n", False),
        ("env NCCL_DEBUG=INFO true\n{}\n", False),
        ('env A=1 "NCCL_DEBUG=INFO" true\n{}\n', False),
    ],
)
def test_what_stays_for_the_commands_that_follow(script: str, stays: bool) -> None:
    """What a program sees that the script starts behind."""
    text = script.format(SHOW)
    assert ("NCCL_DEBUG=INFO" in printed(text)) is stays
    assert (own_command(text, text.index("NCCL_DEBUG=")) == 0) is stays


@pytest.mark.parametrize(
    "line", ["ENV A=1 \\\n  X=2", "Environment=X=2", 'Environment="X=2"', "setenv X=2", "#SBATCH --export=A=1,X=2"]
)
def test_what_other_files_set_for_all_of_their_programs(line: str) -> None:
    assert own_command(f"FROM y\n{line}\nRUN python t.py\n", f"FROM y\n{line}".index("X=")) == 0


def test_a_unit_of_systemd_sets_all_of_its_line() -> None:
    unit = "[Service]\nEnvironment=A=1 NCCL_DEBUG=INFO {}\nExecStart=/usr/bin/python t.py\n"
    assert found(unit.format("XLA_FLAGS=--xla_dump_to=x")) == found(unit.format("JAX_PLATFORMS=cuda")) == []


def test_a_script_that_starts_nothing_is_one_to_be_read_by_another() -> None:
    assert found("NCCL_DEBUG=INFO\nXLA_FLAGS=--xla_dump_to=x\necho set\n") == []
    assert found("XLA_FLAGS=--xla_dump_to=x\nsrun python t.py\n") == [(1, "not-exported")]
    assert found("NCCL_DEBUG=INFO\npython t.py\n") == [(1, "not-exported")]
