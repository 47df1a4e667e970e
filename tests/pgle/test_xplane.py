"""Traces of JAX's profiler: the kernels of each instruction, the programs, and why a trace cannot serve."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle.samples import Sample
from jaxgpu_tune.pgle.xplane import is_trace, read_xplane
from tests.pgle.xspace import Kernel, hlo, ran, space

STEP = ran("jit_step", "fusion.1", 10, 8, scope_range_id=7)


@pytest.mark.parametrize(
    ("name", "traced"),
    [("a.xplane.pb", True), ("a.xplane.pb.gz", True), ("a.pb", False), ("a.xplane.pb.txt", False), ("xplane", False)],
)
def test_traces_go_by_their_name(name: str, traced: bool) -> None:
    assert is_trace(Path("some") / name) is traced


@pytest.mark.parametrize("name", ["a.xplane.pb", "a.xplane.pb.gz"])
def test_kernels_of_instructions_are_samples_and_programs_have_their_names(tmp_path: Path, name: str) -> None:
    """By file and GPU; what is of no program or no instruction is left out."""
    kernels = [Kernel("cub", 0, 5, {}), STEP, Kernel("other", 1, 1, {"hlo_module": "jit_step"})]
    data = space(
        [kernels, [ran("jit_step", "all-gather.4", 3, 4, "nccl")]], {"x": hlo("jit_step", "ab" * 16, {"f": "g"})}
    )
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = read_xplane(path)
    assert found.samples == (
        Sample("jit_step", "fusion.1", f"{path}:/device:GPU:0", "kernel", 10_000, 8_000, 7),
        Sample("jit_step", "all-gather.4", f"{path}:/device:GPU:1", "nccl", 3_000, 4_000, None),
    )
    assert list(found.programs) == ["jit_step"]
    assert found.programs["jit_step"].scheduled_names == {"f": "g"}


@pytest.mark.parametrize(
    ("content", "why", "hint"),
    [
        (space([], {}), "no plane of a GPU", "CPU"),
        (space([[], []], {}), "the 2 planes of GPUs are empty", "one tool at a time"),
        (space([[Kernel("graph", 0, 1, {})] * 3], {}), "none of 3 kernels names an instruction", "command buffers off"),
        (b"PK", "is no trace of JAX's profiler", ""),
    ],
)
def test_what_cannot_serve_says_why_and_what_to_do(tmp_path: Path, content: bytes, why: str, hint: str) -> None:
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(content)
    with pytest.raises(BadSetting) as raised:
        read_xplane(path)
    (finding,) = raised.value.findings
    assert why in finding.message and hint in (finding.hint or "")


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"no trace of JAX's profiler: .*No such file"):
        read_xplane(tmp_path / "a.xplane.pb")
