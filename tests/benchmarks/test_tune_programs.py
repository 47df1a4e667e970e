"""Each case is a command line that this library takes, on a program that is there."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import pytest

from benchmarks import tune_programs
from benchmarks.tune_programs import CASES
from jaxgpu_tune.cli.group import group


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_a_command_line(name: str, tmp_path: Path) -> None:
    given = argparse.Namespace(budget="4m", seconds="1.5", tiny=False)
    module, *words = tune_programs._words(CASES[name], tmp_path, given, ["NCCL_NVLS_ENABLE=0"])
    assert importlib.util.find_spec(module) is not None
    if module == "jaxgpu_tune":
        command = group.get_command(group.make_context("x", ["tune"], resilient_parsing=True), words[0])
        assert command is not None
        told = command.make_context(words[0], words[1:]).params
        assert told["program"][:2] == ("env", "NCCL_NVLS_ENABLE=0")
        assert importlib.util.find_spec(told["program"][4]) is not None


def test_cases_for_one_gpu_run_side_by_side() -> None:
    assert tune_programs._batches(["ppo", "fsdp", "ode", "convnet"], 2) == [["ppo", "ode"], ["convnet"], ["fsdp"]]
