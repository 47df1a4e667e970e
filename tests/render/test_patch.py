"""A diff that patch takes: it makes the one text of the other, whatever the file is called."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.render.patch import unified

TEXTS = st.lists(st.sampled_from(["a", "b", "", "é", "x\u2028y", "c\rd"]), max_size=6).map("\n".join)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("job.sh", "job.sh"),
        ("my job.sh", "my job.sh\t"),
        ('a"b', '"a\\"b"'),
        ("a\tb", '"a\\tb"'),
        ("a\\b", '"a\\\\b"'),
        ("é", "é"),
    ],
)
def test_names_as_diff_writes_them(name: str, header: str) -> None:
    first, second, *_ = unified(name, "a\n", "b\n").split("\n")
    assert (first, second) == (f"--- {header}", f"+++ {header}")
    assert not header.startswith('"') or json.loads(header) == name


def test_nothing_changed_is_no_diff() -> None:
    assert unified("x", "a", "a") == ""


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch is installed")
@settings(max_examples=25)
@given(before=TEXTS.filter(bool), after=TEXTS.filter(bool))
def test_it_leads_from_the_one_to_the_other(before: str, after: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lines end at a line feed alone, and the last one may have none."""
    folder: Path = tmp_path_factory.mktemp("patched")
    (folder / "file").write_bytes(before.encode())
    diff = unified("file", before, after)
    if diff:
        subprocess.run(
            ["patch", "-p0", "--binary", "-s"], cwd=folder, input=diff.encode(), check=True, capture_output=True
        )
    assert (folder / "file").read_bytes() == after.encode()


@pytest.mark.parametrize("name", ["my job.sh", "größer.sh", "tab\t.sh", 'q"\\.sh', "a b/c d.sh"])
@pytest.mark.parametrize("command", [("patch", "-p0"), ("git", "apply", "-p0", "-")])
def test_a_patch_finds_a_file_whatever_its_name(name: str, command: tuple[str, ...], tmp_path: Path) -> None:
    """Blanks end a name unless a tab does."""
    old, new = "a\nXLA_FLAGS=--xla_gpu_graph_level=0\n", "a\nXLA_FLAGS=--xla_gpu_enable_command_buffer=\n"
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(old)
    subprocess.run(command, cwd=tmp_path, input=unified(name, old, new).encode(), check=True, capture_output=True)
    assert (tmp_path / name).read_text() == new
