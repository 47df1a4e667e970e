"""``migrate``: a text, or files as a patch."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_migrate_prints_the_text_and_nothing_else_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line or from the environment."""
    result = call("migrate", "--to", "0.11.2", "--xla_gpu_graph_level=0")
    assert result.stdout == "--xla_gpu_enable_command_buffer=\n"
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_graph_level=0")
    assert call("migrate", "--to", "0.11.2").stdout == result.stdout
    assert json.loads(call("migrate", "--to", "0.11.2", "--json").stdout)["xla_flags"] + "\n" == result.stdout


@pytest.mark.parametrize(
    ("text", "status"), [("XLA_FLAGS=--xla_gpu_graph_level=0", 0), ("XLA_FLAGS=--xla_gpu_graph_level=$L", 1)]
)
def test_migrate_fails_while_a_fatal_flag_stays(text: str, status: int, tmp_path: Path) -> None:
    """The exit code says whether the file can be used; ``--as`` says what it is."""
    file = tmp_path / "settings"
    file.write_text(text)
    done = call("migrate", "--to", "0.11.2", "--file", str(file))
    assert done.exit_code == 2 and "--as sh|docker" in done.stderr
    done = call("migrate", "--to", "0.11.2", "--as", "sh", "--file", str(file))
    assert done.exit_code == status and ("would end the process" in done.stderr) is bool(status)


def test_a_file_is_told_as_json(tmp_path: Path) -> None:
    """The patch, what is changed in it, and what is left, each with its line and why."""
    file = tmp_path / "job.sh"
    file.write_text("A=1\nexport XLA_FLAGS=--xla_gpu_graph_level=0\nXLA_FLAGS=--xla_gpu_graph_level=$L\n")
    done = call("migrate", "--to", "0.11.2", "--json", "--file", str(file))
    (told,) = json.loads(done.stdout)
    assert done.exit_code == 1 and set(told) == {"file", "patch", "changes", "left"} and told["file"] == str(file)
    assert [one["line"] for one in told["changes"]] == [2] and [one["line"] for one in told["left"]] == [3]
    assert "+export XLA_FLAGS=--xla_gpu_enable_command_buffer=" in told["patch"]


def test_migrate_reads_no_pipe(tmp_path: Path) -> None:
    """Which would wait for whoever writes to it."""
    os.mkfifo(tmp_path / "job.sh")
    result = call("migrate", "--to", "0.11.2", "--file", str(tmp_path / "job.sh"))
    assert result.exit_code == 2 and "no regular file" in result.output
