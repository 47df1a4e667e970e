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


@pytest.mark.parametrize("probe", [False, True])
def test_in_a_zip_file_it_plans_as_in_a_folder(tmp_path: Path, probe: bool) -> None:
    """As `--py-files` of Spark has it; the installed jaxlib can be asked, too."""
    shutil.copytree(PACKAGE, tmp_path / "all" / "jaxgpu_tune", ignore=shutil.ignore_patterns("__pycache__"))
    zipped = shutil.make_archive(str(tmp_path / "lib"), "zip", tmp_path / "all")
    code = IN_ZIP.replace("PROBE", str(probe))
    where, found = told(code, cwd=tmp_path, PYTHONPATH=zipped)
    assert where == os.path.join(zipped, "jaxgpu_tune", "__init__.py")
    assert found == told(code)[1] and "unknown-flag" in found


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        own_text(os.path.join(PACKAGE, "nope"))
