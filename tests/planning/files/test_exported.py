"""What a script assigns and does not export."""

from __future__ import annotations

import subprocess

import pytest

from jaxgpu_tune.planning.files.exported import is_kept_back
from tests.planning.files.test_commands import found

SHOW = "env"


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
    shell = ["bash", "-c", text]
    done = subprocess.run(shell, env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True, check=True)
    assert ("INFO" in done.stdout) is seen
    assert (
        is_kept_back(
            text, text.index("NCCL_DEBUG=INFO") if "=INFO" in text else text.index("NCCL_DEBUG="), "NCCL_DEBUG"
        )
        is not seen
    )


def test_a_script_that_starts_nothing_is_one_to_be_read_by_another() -> None:
    assert found("NCCL_DEBUG=INFO\nXLA_FLAGS=--xla_dump_to=x\necho set\n") == []
    assert found("XLA_FLAGS=--xla_dump_to=x\nsrun python t.py\n") == [(1, "not-exported")]
    assert found("NCCL_DEBUG=INFO\npython t.py\n") == [(1, "not-exported")]
