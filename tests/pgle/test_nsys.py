"""Nsight Systems' SQLite export, by its published schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle.nsys import is_export, read_export
from jaxgpu_tune.pgle.samples import costs_of_samples
from tests.pgle.nsys_export import Export


def written(path: Path, process: int = 100, wait: float = 0.0) -> Export:
    """Two executions of a program with a computation, a copy and a collective; the collective of this process waits so long."""
    export = Export(path, process)
    for step in (0.0, 100.0):
        export.range("XlaModule:#prefix=jit(step),hlo_module=jit_step,program_id=3#", step, step + 50)
        export.range("Thunk:#name=jit(step)/while/body/dot_general,hlo_op=while.3#", step + 1, step + 20)
        export.range("Thunk:#name=dot,hlo_op=gemm_fusion_dot.1#", step + 2, step + 4, registered=True)
        export.kernel("gemm_fusion_dot_1", step + 3, step + 30, 8 + step / 100)
        export.range("Thunk:#hlo_op=copy.2#", step + 5, step + 6)
        export.copy(step + 5.2, step + 40, 2)
        export.range("Thunk:#name=x,hlo_op=all-gather.4#", step + 7, step + 9)
        export.kernel("ncclDevKernel_AllGather_RING_LL", step + 8, step + 45, 20 + wait)
        export.range("other library", step + 60, step + 70)
        export.kernel("mine", step + 61, step + 90, 1)
    return export


def test_a_kernel_belongs_to_the_innermost_range_of_its_launch(tmp_path: Path) -> None:
    """Not to what the GPU did at the time: kernels run long after they are launched. What no instruction launched is left out."""
    samples = read_export(written(tmp_path / "a.sqlite").path)
    assert {(one.module, one.instruction) for one in samples} == {
        ("jit_step", name) for name in ("gemm_fusion_dot.1", "copy.2", "all-gather.4")
    }
    assert costs_of_samples(samples).by_name == {"gemm_fusion_dot.1": 8, "copy.2": 2, "all-gather.4": 20}
    assert costs_of_samples(samples, 100).by_name["gemm_fusion_dot.1"] == 9


def test_ranks_are_merged(tmp_path: Path) -> None:
    """In one file, or in one file each: what one rank waited for the other is no cost."""
    one = written(tmp_path / "both.sqlite", 100, wait=500).path
    written(one, 200)
    separate = [written(tmp_path / f"{rank}.sqlite", rank, wait=500 * rank).path for rank in (0, 1)]
    apart = [sample for path in separate for sample in read_export(path)]
    assert costs_of_samples(read_export(one)) == costs_of_samples(apart)
    assert costs_of_samples(apart).by_name["all-gather.4"] == 20


def test_the_export_is_only_read(tmp_path: Path) -> None:
    path = written(tmp_path / "with space?#.sqlite").path
    before, names = path.read_bytes(), sorted(tmp_path.iterdir())
    path.chmod(0o400)
    read_export(path)
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == names and is_export(path)


def test_what_an_export_lacks_is_all_told(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        database.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, text TEXT)")
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    with pytest.raises(BadSetting) as raised:
        read_export(tmp_path / "x.sqlite")
    for name in (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "NVTX_EVENTS.end",
        "NVTX_EVENTS.globalTid",
    ):
        assert name in str(raised.value)
    (tmp_path / "y.sqlite").write_text("not a database at all")
    with pytest.raises(BadSetting, match="cannot be read"):
        read_export(tmp_path / "y.sqlite")


def test_kernels_without_instructions_are_told(tmp_path: Path) -> None:
    """A CUDA graph, or no NVTX ranges of XLA."""
    export = Export(tmp_path / "x.sqlite")
    export.range("step", 0, 10)
    export.kernel("graph", 1, 2, 3)
    with pytest.raises(BadSetting, match="no kernel was launched within a range that names an XLA instruction"):
        read_export(export.path)


def test_each_sample_tells_what_ran_and_where(tmp_path: Path) -> None:
    """A copy has no name of its own; the GPU and the process are told apart."""
    export = written(tmp_path / "a.sqlite")
    export.range("Thunk:#hlo_op=late.5#", 200, 210)
    export.kernel("late", 200, 300, 5, device=1)
    export.range("Thunk:#hlo_op=early.6#", 220, 230)
    export.kernel("early", 230, 320, 5)
    samples = {one.instruction: one for one in read_export(export.path)}
    assert {name: one.kernel for name, one in samples.items()} == {
        "gemm_fusion_dot.1": "gemm_fusion_dot_1",
        "copy.2": "CUPTI_ACTIVITY_KIND_MEMCPY",
        "all-gather.4": "ncclDevKernel_AllGather_RING_LL",
        "late.5": "late",
        "early.6": "early",
    }
    assert samples["late.5"].place == f"{export.path}:100:1" and samples["late.5"].module == ""
    assert samples["copy.2"].place == f"{export.path}:100:0"


def test_an_export_without_processes_and_registered_texts_is_read(tmp_path: Path) -> None:
    """Columns that releases of Nsight Systems do not all write."""
    export = written(tmp_path / "a.sqlite")
    everything = read_export(export.path)
    with closing(sqlite3.connect(export.path)) as database, database:
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"):
            database.execute(f"ALTER TABLE {table} DROP COLUMN globalPid")
        database.execute("ALTER TABLE NVTX_EVENTS DROP COLUMN textId")
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName")
    found = read_export(export.path)
    texts = [one for one in everything if one.instruction != "gemm_fusion_dot.1"]
    assert [(one.instruction, one.start) for one in found if one.instruction != "while.3"] == [
        (one.instruction, one.start) for one in texts
    ]
    assert {one.place for one in found} == {f"{export.path}:0:0"}
    assert {one.kernel for one in found} == {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"}
