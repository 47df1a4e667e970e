"""What runs no program with JAX in it, and what may."""

from __future__ import annotations

import re

import pytest

from jaxgpu_tune.knowledge.without_jax import is_call_without_jax, words_without_jax

QUIET = re.compile(f"{words_without_jax('reading_nothing')}|{words_without_jax('without_jax')}")


@pytest.mark.parametrize(
    ("command", "quiet"),
    [
        ("cd /x", True),
        (": ignored", True),
        ("[ -n $A ]", True),
        ("uv pip install jax", True),
        ("uv run train.py", False),
        ("uvx train", False),
        ("conda   activate jax", True),
        ("conda run -n jax python train.py", False),
        ("micromamba install jax", True),
        ("mamba run python train.py", False),
        ("/v/bin/python3.12 -m pip install jax", True),
        ("python -m pipeline", False),
        ("python train.py", False),
        ("command -v python", True),
        ("command python train.py", False),
        ("source $V/bin/activate", True),
        (". ~/.bashrc", True),
        ("source /etc/profile.d/modules.sh", True),
        ("source train.sh", False),
        ("./echo", False),
        ("echo-all", False),
        ("WORKDIR /x", True),
        ("RUN python train.py", False),
    ],
)
def test_a_command_that_runs_no_jax(command: str, quiet: bool) -> None:
    """What runs another program (uv run, conda run) may."""
    assert (QUIET.match(command) is not None) is quiet


@pytest.mark.parametrize(
    ("name", "quiet"),
    [("print", True), ("os.environ.get('A').split", True), ("os.system", False), ("jax.devices", False), ("", False)],
)
def test_a_call_that_runs_no_jax(name: str, quiet: bool) -> None:
    assert is_call_without_jax(name) is quiet


def test_what_reads_no_variable_is_fewer() -> None:
    """pip may build with what CUDA_HOME says."""
    pattern = re.compile(words_without_jax("reading_nothing"))
    assert pattern.match("mkdir x") and not pattern.match("pip install x")
