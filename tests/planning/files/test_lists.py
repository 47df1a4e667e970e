"""Members of lists with commas between them."""

from __future__ import annotations

import pytest

from jaxgpu_tune.flag_texts import migrator
from jaxgpu_tune.planning.files.rewrite import rewrite
from jaxgpu_tune.planning.files.shell import shell_sites
from tests.planning.files.test_file_faults import found

A, B = "--xla_gpu_autotune_level=2", "--xla_gpu_enable_command_buffer=FUSION,CUBLAS"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"sbatch --export=ALL,XLA_FLAGS={A} x", A),
        (f"sbatch --export=XLA_FLAGS={A},ALL x", A),
        (f"srun --export XLA_FLAGS={A},C=1 x", A),
        (f"apptainer run --env C=1,XLA_FLAGS='{A} --xla_dump_to=x' x.sif", f"{A} --xla_dump_to=x"),
        (f"apptainer run --env XLA_FLAGS={A},C=1 x.sif", A),
        (f"docker run --env XLA_FLAGS={B} x", B),
        (f"docker run --env=XLA_FLAGS={B} x", B),
        (f"docker run -e XLA_FLAGS={B} x", B),
        (f"Environment=XLA_FLAGS={B}", B),
        (f"sbatch --export=XLA_FLAGS={B},ALL x", None),
        (f"apptainer run --env C=1,XLA_FLAGS={B} x.sif", None),
    ],
)
def test_where_flags_end_in_a_list(text: str, value: str | None) -> None:
    """None: the list is cut at each comma, so what is meant cannot be known."""
    (site,) = shell_sites(text)
    assert (None if site.unsure else site.text) == value


def test_nothing_with_a_comma_is_written_into_a_list_that_is_cut_there() -> None:
    text = "sbatch --export=ALL,XLA_FLAGS=--xla_gpu_graph_level={} x\n"
    off = rewrite(text.format(0), "shell", migrator("0.11.2"))
    assert off.text == "sbatch --export=ALL,XLA_FLAGS=--xla_gpu_enable_command_buffer= x\n"
    level = rewrite(text.format(2), "shell", migrator("0.11.2"))
    assert level.text == text.format(2) and [one.place.line for one in level.left] == [1]


@pytest.mark.parametrize("prefix", ["APPTAINERENV_", "SINGULARITYENV_"])
def test_what_is_set_for_a_container_is_judged_by_its_name_there(prefix: str) -> None:
    """R12, R46: as clusters run AlphaFold."""
    assert found(f"export {prefix}XLA_PYTHON_CLIENT_MEM_FRACTION=95\n") == [(1, "error", "bad-variable")]
    assert found(f"export {prefix}XLA_FLAGS=--xla_gpu_graph_level=0\n") == [(1, "error", "flag-translated")]
    both = f"{prefix}TF_FORCE_UNIFIED_MEMORY=1 {prefix}XLA_CLIENT_MEM_FRACTION=3.2 apptainer run x.sif\n"
    assert found(both) == []
    assert found(f"export {prefix}MY_OWN=1 OTHER_XLA_FLAGS=--xla_gpu_graph_level=0\n") == [(1, "error", "flag-in-file")]
