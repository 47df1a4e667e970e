"""What one function is compiled with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.planning.files.compiled_with import compiled_with
from jaxgpu_tune.planning.files.file_faults import file_faults
from tests.planning.files.test_file_faults import found


@pytest.mark.parametrize(
    "given",
    [
        "jax.jit(f, compiler_options={'xla_gpu_a': True, 'xla_gpu_b': 2, 'xla_gpu_c': x, 'fdo_profile': p})",
        "f.lower(1).compile(compiler_options=dict(xla_gpu_a=True, xla_gpu_b=2, xla_gpu_c=x))",
        "O = {'xla_gpu_a': True, 'xla_gpu_b': 2, 'xla_gpu_c': x}; jax.jit(f, compiler_options=O)",
        "@partial(jax.jit, compiler_options={'xla_gpu_a': True, 'xla_gpu_b': 2, **more, 'xla_gpu_c': x})\ndef f(): 1",
    ],
)
def test_every_way_to_give_options(given: str) -> None:
    (options,) = compiled_with(given)
    assert [(one.name, one.value, one.flag) for one in options] == [
        ("xla_gpu_a", "true", "--xla_gpu_a=true"),
        ("xla_gpu_b", "2", "--xla_gpu_b=2"),
        ("xla_gpu_c", None, "--xla_gpu_c=x"),
    ]


def test_what_cannot_be_known_is_nothing() -> None:
    """A name that is given several maps, or something else."""
    assert [*compiled_with("O = {'xla_a': 1}\nO = {}\njit(f, compiler_options=O)")] == [()]
    assert [*compiled_with("jit(f, compiler_options=mine())")] == [()]


MACHINES = Path(__file__).resolve().parents[2] / "machines"
DOUBLE = "'xla_gpu_enable_while_loop_double_buffering': True"
BOTH = f"'xla_gpu_command_buffer_scheduling_mode': 'CONCURRENT', {DOUBLE}"
OLDER = "--xla_gpu_graph_enable_concurrent_region"


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (f"f = jax.jit(g, compiler_options={{{BOTH}}})\n", 1),
        (f"O = {{\n\n{BOTH}}}\nf = jax.jit(g, compiler_options=O)\n", 3),
        (f"import os\nos.environ['XLA_FLAGS'] = '{OLDER}'\njit(f, compiler_options={{{DOUBLE}}})\n", 3),
    ],
)
def test_hazards_of_what_a_function_is_compiled_with(program: str, line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, and together with the flags of the file, whose own are told where they stand."""
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINES / "h200x2_captured.json"))
    code = "concurrent-double-buffering-hangs"
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": program}], "nbformat": 4})
    for text, kind, at in ((program, "python", line), (notebook, "notebook", line)):
        told = [one for one in file_faults(text, kind, checker(), migrator()) if one.finding.code == code]
        assert [one.place.line for one in told] == [at]


@pytest.mark.parametrize(
    "program",
    [
        "jit(f, compiler_options={'optimization_level': 19, 'xla_gpu_all_gather_combine_threshold_bytes': 1})",
        "jit(f, compiler_options={'xla_gpu_all_gather_combine_threshold_bytes': 1, 'optimization_level': 'O1'})",
        "os.environ['JAX_OPTIMIZATION_LEVEL'] = 'O1'\njit(f, compiler_options={'xla_gpu_all_gather_combine_threshold_bytes': 1})",
        "jax.config.update('jax_optimization_level', 'O1')\njit(f, compiler_options={'xla_gpu_all_gather_combine_threshold_bytes': 1})",
    ],
)  # fmt: skip
def test_a_level_sets_flags_by_itself(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R66: for one function or for all."""
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINES / "h200x2_captured.json"))
    told = [one.finding.code for one in file_faults(program, "python", checker(), migrator())]
    assert told == ["threshold-overrules-o1"]


def test_a_misspelt_option_is_told_as_what_it_is() -> None:
    """It raises when the function is compiled; the process goes on."""
    program = "jit(f, compiler_options={'xla_gpu_autotune_levle': 2})"
    assert found(program, "python") == [(1, "error", "flag-in-file")]
