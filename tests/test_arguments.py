"""The arguments, written down once: explained, and known to type checkers."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import get_type_hints

import pytest

from jaxgpu_tune.arguments import Arguments

ROOT = Path(__file__).resolve().parent.parent
RIGHT = """
    import os
    import jaxgpu_tune
    from jaxgpu_tune import Report

    report: Report = jaxgpu_tune.configure("fsdp", memory_fraction=0.9, flags={"xla_gpu_autotune_level": 2}, late="warn")
    jaxgpu_tune.plan(prefer="preset", environ={}, jaxlib="0.5.1", compilation_cache=False, machine="machine.json")
    text: dict[str, str] = jaxgpu_tune.environ("auto", base=os.environ, env={"NCCL_DEBUG": None}, jaxlib="0.5.1")
    options: dict[str, object] = jaxgpu_tune.compiler_options(pgle="auto", jaxlib="0.11.2")

    @jaxgpu_tune.configured("fsdp", transfer_guard="log", memory_fraction="auto")
    def main(steps: int) -> float:
        return steps / 2

    half: float = main(3)
"""
WRONG = (
    'configure("fsdp", memory_fracton=0.5)',
    'configure(prefer="presett")',
    'plan(late="never")',
    'environ(memory_fraction="most")',
    'configured(platform="gpu")',
    'compiler_options(transfer_guard="disalow")',
    "configure(flags=[])",
)


def checker(name: str) -> list[str]:
    """The command of a type checker; skips where it is not here."""
    if name == "mypy":
        return [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    found = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    return [found, "--level", "error"] if found else pytest.skip("pyright is not installed")


SKIP, UNRELATED = "follow_imports = skip", ("jax", "jaxlib", "numpy")
"""Nine tenths of mypy's time, and no argument is of their types."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_type_checkers_know_the_arguments(name: str, tmp_path: Path) -> None:
    """A right program passes; each wrong line of another is told, at its line."""
    command = checker(name)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    (tmp_path / "mypy.ini").write_text("[mypy]\n" + "".join(f"[mypy-{one}.*]\n{SKIP}\n" for one in UNRELATED))
    (tmp_path / "right.py").write_text(dedent(RIGHT))
    (tmp_path / "wrong.py").write_text("import jaxgpu_tune\n" + "".join(f"jaxgpu_tune.{line}\n" for line in WRONG))
    done = subprocess.run([*command, "right.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "right.py" not in done.stdout, done.stdout + done.stderr
    assert all(f"wrong.py:{number}:" in done.stdout for number in range(2, len(WRONG) + 2)), done.stdout


def test_every_argument_is_explained() -> None:
    """In the one docstring that lists them."""
    told = inspect.getdoc(Arguments) or ""
    assert [name for name in Arguments.__annotations__ if f"\n    {name}: " not in told] == []
    assert set(get_type_hints(Arguments)) == set(Arguments.__annotations__)
