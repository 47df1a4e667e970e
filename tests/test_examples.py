"""The examples, run as a user runs them: script, decorator and notebook form train on two host devices."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from child import clean_environ

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SMALL = ("--layers", "2", "--width", "64", "--batch", "2", "--sequence", "32", "--steps", "8")
LOSS = re.compile(r"loss (\d+\.\d+) -> (\d+\.\d+), on (\d+) x ")

pytestmark = pytest.mark.slow


def trained(*command: str, **environ: str) -> tuple[float, float, int, str]:
    """(first loss, last loss, devices, output) of a process that trains without a GPU."""
    clean = clean_environ(CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu", **environ)
    done = subprocess.run(
        [sys.executable, *command], cwd=EXAMPLES, env=clean, capture_output=True, text=True, check=False, timeout=300
    )
    found = LOSS.search(done.stdout)
    assert done.returncode == 0 and found, done.stderr
    return float(found[1]), float(found[2]), int(found[3]), done.stdout


def test_the_script_trains_on_two_host_devices_and_prints_its_report() -> None:
    """The loss falls, and is the same again."""
    first, last, devices, output = trained("fsdp_training.py", *SMALL)
    assert last < first and devices == 2
    assert "jaxgpu_tune 'fsdp'" in output and "xla_force_host_platform_device_count" in output
    assert trained("fsdp_training.py", *SMALL)[:3] == (first, last, devices)


def test_the_decorated_entry_point_trains() -> None:
    """Inherited flags are kept when it is called."""
    first, last, devices, _ = trained(
        "decorated_training.py", *SMALL, XLA_FLAGS="--xla_force_host_platform_device_count=2"
    )
    assert last < first and devices == 2


def test_the_notebook_trains() -> None:
    """Its cells, in IPython; the magic's report is what the first cell shows."""
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    script = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in {code!r}:
    done = shell.run_cell(cell)
    done.raise_error()
    print(done.result)
"""
    _, _, devices, output = trained("-c", script, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert devices == 2 and "jaxgpu_tune 'fsdp': applied" in output
