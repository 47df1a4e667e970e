"""Commands as they are typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from jaxgpu_tune.cli.group import group
from tests.child import ROOT, Ended
from tests.child import run as run_child

TUNABLE = ROOT / "tests" / "measure" / "programs" / "tunable.py"


def call(*words: str) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(group, words, prog_name="jaxgpu-tune")


def program(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "jaxgpu_tune", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)


def measured(folder: Path, *words: str, timeout: float = 2000, **environ: str) -> Ended:
    """A command line that measures, in a process of its own and in ``folder``."""
    code = "import sys\nfrom jaxgpu_tune.cli import main\nmain(sys.argv[1:])"
    return run_child(code, argv=words, cwd=folder, timeout=timeout, **environ)


def tunable(*words: str) -> tuple[str, ...]:
    """The program that has settings which crash, hang, and so on, as the end of a command line."""
    return ("--", sys.executable, str(TUNABLE), *(words or ("100000",)))
