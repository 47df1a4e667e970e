"""The package's own files, where it lies in a folder and where it lies in a zip file."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from jaxgpu_tune.own_files import PACKAGE, own_text
from tests.child import told

if TYPE_CHECKING:
    from pathlib import Path

IN_ZIP = """
import jaxgpu_tune
report = jaxgpu_tune.plan("fsdp", environ={"XLA_FLAGS": "--xla_gpu_graph_level=0 --xla_nope=1"}, probe=PROBE)
tell([jaxgpu_tune.__file__, sorted(finding.code for finding in report.findings)])
"""


PARTS = """
from jaxgpu_tune.arms import environ_of
from jaxgpu_tune.comms import ffi, nvrtc
_, environ = environ_of("none", {}, env={"NCCL_DEBUG": "INFO"})
tell([environ["NCCL_DEBUG"], len(ffi.SOURCE), len(nvrtc.SOURCE)])
"""


@pytest.fixture
def zipped(tmp_path: Path) -> str:
    """The package as `--py-files` of Spark has it."""
    shutil.copytree(PACKAGE, tmp_path / "all" / "jaxgpu_tune", ignore=shutil.ignore_patterns("__pycache__"))
    return shutil.make_archive(str(tmp_path / "lib"), "zip", tmp_path / "all")


@pytest.mark.parametrize("probe", [False, True])
def test_in_a_zip_file_it_plans_as_in_a_folder(tmp_path: Path, zipped: str, probe: bool) -> None:
    """The installed jaxlib can be asked, too."""
    code = IN_ZIP.replace("PROBE", str(probe))
    where, found = told(code, cwd=tmp_path, PYTHONPATH=zipped)
    assert where == os.path.join(zipped, "jaxgpu_tune", "__init__.py")
    assert found == told(code)[1] and "unknown-flag" in found


def test_in_a_zip_file_arguments_are_an_arm_and_comms_has_its_sources(tmp_path: Path, zipped: str) -> None:
    value, *sizes = told(PARTS, cwd=tmp_path, PYTHONPATH=zipped)
    assert value == "INFO"
    assert sizes == [os.path.getsize(os.path.join(PACKAGE, "comms", name)) for name in ("launcher.cc", "kernels.cu")]


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        own_text(os.path.join(PACKAGE, "nope"))
