"""What is wrong with the XLA_FLAGS inside a file: each with its line, and nothing twice."""

from __future__ import annotations

from functools import partial
from textwrap import dedent

import pytest

from jaxgpu_tune.api import checked, migrator
from jaxgpu_tune.planning.files.file_faults import file_faults
from tests.fleet import machine

NEW = "0.11.2"


def found(text: str, kind: str = "shell") -> list[tuple[int, str, str]]:
    """(line, severity, code) of each fault, for jaxlib 0.11.2."""
    here = machine(jaxlib=NEW)
    check = lambda flags: checked(flags, NEW, here)[0].findings  # noqa: E731
    reader = partial(file_faults, check=check, migrate=migrator(NEW))
    return [(one.line, one.finding.severity, one.finding.code) for one in reader(dedent(text), kind)]


SHELL = """\
    #!/bin/sh
    export XLA_FLAGS="--xla_gpu_autotune_level=2 \\
      --xla_gpu_graph_level=0 \\
      --xla_gpu_autotune_levle=2 \\
      --xla_gpu_autotune_level=high"
    python train.py
    """


def test_each_flag_has_its_line() -> None:
    assert found(SHELL) == [
        (3, "error", "flag-translated"),
        (4, "error", "unknown-flag"),
        (5, "error", "bad-flag-value"),
    ]


def test_a_good_file_has_none() -> None:
    assert found("export XLA_FLAGS='--xla_gpu_autotune_level=2 --xla_dump_to=/tmp/x'\n") == []


def test_what_only_the_whole_value_shows_is_told_once() -> None:
    """XLA stops at the stray word."""
    assert found("export XLA_FLAGS='--xla_gpu_autotune_level=2 threads=1'\n") == [(1, "warning", "stray-word")]


@pytest.mark.parametrize(
    ("flag", "severity"), [("--xla_gpu_graph_level=$L", "error"), ("--xla_gpu_autotune_level=$L threads=1", "warning")]
)
def test_what_hangs_on_the_run_is_told_as_far_as_it_can_be(flag: str, severity: str) -> None:
    assert found(f'export XLA_FLAGS="{flag}"\n') == [(1, severity, "flag-in-file")]


def test_python_and_docker_are_read_too() -> None:
    wrong = (2, "error", "flag-translated")
    python = "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_graph_level=0'\n"
    assert found(python, "python") == [wrong]
    assert found("FROM x\nENV XLA_FLAGS=--xla_gpu_graph_level=0\n", "dockerfile") == [wrong]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("shell", 'XLA_FLAGS+="{}--xla_gpu_autotune_level=2"'),
        ("shell", 'export XLA_FLAGS="$XLA_FLAGS{}--xla_gpu_autotune_level=2"'),
        ("python", 'os.environ["XLA_FLAGS"] += "{}--xla_gpu_autotune_level=2"'),
        ("python", 'os.environ["XLA_FLAGS"] += f"{}--xla_gpu_autotune_level={{level}}"'),
        ("python", 'flags = "--xla_gpu_enable_triton_gemm=false"\nflags += "{}--xla_gpu_autotune_level=2"\nos.environ["XLA_FLAGS"] = flags'),
    ],
)  # fmt: skip
def test_what_is_added_without_a_blank_is_told(kind: str, text: str) -> None:
    """XLA would read it as a part of the flag before it."""
    assert [code for _, _, code in found(text.format(""), kind)] == ["flag-in-file"]
    assert found(text.format(" "), kind) == []
