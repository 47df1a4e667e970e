"""The site builds without a warning: no dead link."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import jaxgpu_tune

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    for name in ("mkdocs", "mkdocstrings"):
        pytest.importorskip(name, reason="in the extra 'docs'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "presets" / "fsdp" / "index.html").exists()


def test_the_reference_has_every_function_and_error() -> None:
    """What is importable from the top is in docs/api.md, each error through their module."""
    told = (ROOT / "docs" / "api.md").read_text("utf-8")
    functions = [name for name in jaxgpu_tune.__all__ if name.islower()]
    assert [name for name in functions if f".{name}\n" not in told] == []
    assert "::: jaxgpu_tune.errors" in told
