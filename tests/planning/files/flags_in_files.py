"""Flags to be put into files, and what a program has to find there after they are rewritten for 0.11.2."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.planning.files.rewrite import rewrite

OLD = {
    "--xla_gpu_graph_level=0": "--xla_gpu_enable_command_buffer=",
    "--xla_gpu_graph_level=1": "--xla_gpu_enable_command_buffer=FUSION",
    "--xla_gpu_enable_async_collectives=true": "",
    "--xla_gpu_enable_custom_fusions=true": "--xla_gpu_enable_dynamic_slice_fusion=true",
    "--xla_gpu_enable_pipelined_collectives=true": (
        "--xla_gpu_pipeline_all_gather=on --xla_gpu_pipeline_all_reduce=on --xla_gpu_pipeline_reduce_scatter=on"
    ),
}
"""A flag, and what stands for it in 0.11.2."""
SAME = ["--xla_gpu_autotune_level=2", "--xla_dump_to='/tmp/a b'", '--xla_dump_to="/tmp/é"', "--xla_no_such=\\x$y`z"]
FLAGS = st.lists(st.sampled_from([*OLD, *SAME]), min_size=1, max_size=5)


@cache
def migrate(flag: str) -> jaxgpu_tune.Migration:
    """For 0.11.2."""
    return jaxgpu_tune.migrate(flag, "0.11.2")


def rewritten(text: str, kind: str) -> str:
    """The file's new text."""
    return rewrite(text, kind, migrate).text


def expected(flags: list[str]) -> list[str]:
    """What a program has to find, blanks aside."""
    return " ".join(OLD.get(flag, flag) for flag in flags).split()
