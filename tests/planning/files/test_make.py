"""What a Makefile sets is what make makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from jaxgpu_tune.planning.files.make import makefile_sites
from jaxgpu_tune.planning.files.mapped import HOLE
from tests.planning.files.flags_in_files import rewritten

A, B = "--xla_a=1", "--xla_b=2"
ASSIGNMENTS = {
    f"XLA_FLAGS = {A} {B}  # why": f"{A} {B}  ".strip(),
    f"XLA_FLAGS := {A}": A,
    f"XLA_FLAGS ?= {A}": A,
    f"export XLA_FLAGS={A}": A,
    f"override XLA_FLAGS ::= {A}": A,
    f"XLA_FLAGS = {A} \\\n    {B}": f"{A} {B}",
    f"show: export XLA_FLAGS = {A}": A,
    f"XLA_FLAGS = {A} $$HOME": f"{A} {HOLE}HOME",
    f"XLA_FLAGS = {A} $(MORE) ${{OTHER}}": f"{A} {HOLE} {HOLE}",
    f"XLA_FLAGS += {A}": f"{HOLE} {A}",
    f"XLA_FLAGS+={A}": f"{HOLE} {A}",
    "XLA_FLAGS != echo x": HOLE,
    f"XLA_FLAGS = '{A} {B}'": f"{A} {B}",
    f"export XLA_FLAGS = '{A}'": f"'{A}'",
}


def values(text: str) -> list[str]:
    """Each value that is set, with what is put in as a hole, blanks as one."""
    return [" ".join("".join(piece.text for piece in site.pieces).split()) for site in makefile_sites(text)]


@pytest.mark.parametrize("line", ASSIGNMENTS)
def test_what_an_assignment_sets(line: str) -> None:
    assert values(f"first:\n\n{line}\n\nshow:\n\techo done\n") == [" ".join(ASSIGNMENTS[line].split())]


def test_a_recipe_is_the_shells() -> None:
    assert values(f'train:\n\tXLA_FLAGS="$$XLA_FLAGS {A}" python x\n') == [f"{HOLE} {A}"]
    assert values(f"train: data # XLA_FLAGS={A}\n") == []


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize("line", [line for line, value in ASSIGNMENTS.items() if HOLE not in value])
def test_make_itself_reads_the_same(line: str, tmp_path: Path) -> None:
    """What a program of a recipe finds in its environment, but for quotes that are not exported."""
    file = tmp_path / "Makefile"
    file.write_text(f"{line}\nexport XLA_FLAGS\nshow:\n\t@printenv XLA_FLAGS\n")
    done = subprocess.run(
        ["make", "-sf", str(file), "show"], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    read = done.stdout.split()
    assert " ".join(read) == values(file.read_text())[0] or line.count("'") == 2


def test_a_flag_is_restated_as_make_writes_it() -> None:
    text = "XLA_FLAGS = --xla_gpu_graph_level=0 \\\n  --xla_dump_to=$(DIR) # why\n"
    assert rewritten(text, "makefile") == text.replace("--xla_gpu_graph_level=0", "--xla_gpu_enable_command_buffer=")
