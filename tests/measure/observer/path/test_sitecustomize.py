"""The file that is found first on PYTHONPATH: it hides nobody's own, and nothing that goes wrong in it reaches the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.child import ROOT, clean_environ

PLACE = ROOT / "jaxgpu_tune" / "measure" / "observer" / "path"


def ran(code: str, *rest: Path, **environ: str) -> str:
    """What a Python prints in which it is found first."""
    path = os.pathsep.join(map(str, (PLACE, *rest)))
    command = [sys.executable, "-c", code]
    environ = clean_environ(**environ, PYTHONPATH=path)
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout


def test_path_holds_nothing_but_the_sitecustomize() -> None:
    """What lies there would hide modules of the program."""
    assert {name for name in os.listdir(PLACE) if name != "__pycache__"} == {"sitecustomize.py"}


def test_the_programs_own_sitecustomize_runs_and_nothing_is_loaded_where_nobody_listens(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs', __name__)\n")
    code = (
        "import sys; print([name for name in sys.modules if 'jaxgpu' in name], sys.modules['sitecustomize'].__file__)"
    )
    assert ran(code, tmp_path) == f"theirs sitecustomize\n[] {tmp_path / 'sitecustomize.py'}\n"


def test_where_somebody_listens_the_process_says_who_it_is(tmp_path: Path) -> None:
    """And jaxgpu_tune itself is not imported for it."""
    code = "import os, sys; print(os.getpid(), 'jaxgpu_tune' in sys.modules)"
    pid, imported = ran(code, JAXGPU_TUNE_OBSERVE=str(tmp_path)).split()
    (report,) = tmp_path.glob("process-*/report.json")
    assert imported == "False" and f'"pid": {pid}' in report.read_text() and '"no jax"' in report.read_text()


def test_a_folder_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert ran("print('ran')", JAXGPU_TUNE_OBSERVE=str(tmp_path / "file" / "in")) == "ran\n"
