"""Take the pictures of a notebook's first cell for the docs: docs/images/notebook-{light,dark}.png.

    python -m tools.screenshot [--browser chromium]

The cell runs in a real Jupyter kernel and is drawn by a real browser, without a window. Needs nbconvert, a Chromium, and
the jaxlib that the machine file names.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import nbclient
import nbformat
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CELL = "%load_ext jaxgpu_tune\n%jaxgpu_tune fsdp --memory-fraction 0.9"
STALE_FLAGS = "--xla_gpu_enable_async_collectives=true"
WIDTH, HEIGHT = 1100, 680


def main() -> None:
    """Run the cell once, and take one picture a theme."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", default="chromium")
    browser = parser.parse_args().browser
    notebook = executed()
    IMAGES.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        take(browser, HTMLExporter(theme=theme).from_notebook_node(notebook)[0], IMAGES / f"notebook-{theme}.png")


def executed() -> nbformat.NotebookNode:
    """The notebook of one cell with its output, for two H200; applied if this jaxlib is the one of the machine file."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    machine = ROOT / "tests" / "machines" / "h200x2_captured.json"
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "JAXGPU_TUNE_MACHINE": str(machine), "XLA_FLAGS": STALE_FLAGS}
    nbclient.NotebookClient(notebook, timeout=120).execute(env=environ)
    return notebook


def take(browser: str, page: str, picture: Path) -> None:
    """Draw an HTML page into a PNG file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, "utf-8")
        size = f"--window-size={WIDTH},{HEIGHT}"
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size, f"--screenshot={picture}")
        subprocess.run([browser, *flags, file.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
