"""The commands in click: what they say of wrong words, and a name that is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.cli.group import magic
from tests.child import told
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_a_misspelt_command_is_told_with_the_nearest_of_its_group() -> None:
    for line, near in ((("plam", "fsdp"), "'plan'"), (("pgle", "reccord"), "'record'")):
        told = call(*line)
        assert told.exit_code == 2
        assert f"Did you mean {near}?" in told.output
        assert "allowed: " in told.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("fsdp",), "It is a preset: jaxgpu-tune plan fsdp, or jaxgpu-tune run fsdp -- COMMAND..."),
        (("record",), "Write jaxgpu-tune pgle record."),
        (("pgle", "plan"), "Write jaxgpu-tune plan."),
        (("verify",), "It is a function: call jaxgpu_tune.verify() in the program."),
        (("xla_gpu_ftz",), "It is an XLA flag: jaxgpu-tune explain xla_gpu_ftz"),
    ],
)
def test_a_real_name_in_the_place_of_a_command_is_told_as_what_it_is(line: tuple[str, ...], said: str) -> None:
    told = call(*line)
    assert told.exit_code == 2 and said in told.output and "Did you mean" not in told.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("bisect", "--folder", "{file}", "--", "true"), "'--folder': Directory '{file}' is a file."),
        (("compare", "none", "--keep", "{file}", "--", "true"), "'--keep': Directory '{file}' is a file."),
        (("plan", "--compilation-cache", "{file}"), "'--compilation-cache': Directory '{file}' is a file."),
        (("compare", "none", "--save", "{folder}", "--", "true"), "'--save': File '{folder}' is a directory."),
        (("pgle", "diff", "{folder}", "{file}"), "'FILE': File '{folder}' is a directory."),
    ],
)
def test_a_folder_is_no_file_and_a_file_no_folder(line: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """It is told with the option before anything runs; what is not there yet may become either."""
    (tmp_path / "x").touch()
    places = {"file": str(tmp_path / "x"), "folder": str(tmp_path)}
    told = call(*(word.format(**places) for word in line))
    assert told.exit_code == 2 and f"Invalid value for {said.format(**places)}" in told.stderr


def test_a_line_in_a_notebook_is_arguments_of_configure() -> None:
    """Only those that were typed."""
    read = magic.main(["fsdp", "--devices", "8", "--late", "warn"], standalone_mode=False)
    assert read == {"preset": "fsdp", "devices": 8, "late": "warn"}
    assert magic.main([], standalone_mode=False)["preset"] == "auto"


def test_what_is_called_otherwise_now_works_and_is_in_no_help() -> None:
    told = call("plan", "--help").output
    assert "--no-env NAME" in told and "variable NAME" not in told
    assert call("plan", "auto", "--variable", "NCCL_DEBUG=INFO").exit_code == 0


@pytest.mark.parametrize("line", [("diff",), ("pgle", "inspect"), ("pgle", "diff", "x"), ("pgle", "convert"), ("run",), ("explain",)])  # fmt: skip
def test_a_word_that_is_missing_is_wrong_use(line: tuple[str, ...]) -> None:
    """Not a traceback, and not another word in its place."""
    told = call(*line)
    assert told.exit_code == 2 and told.stdout == "" and told.stderr


def test_commands_work_where_python_leaves_docstrings_out() -> None:
    """As ``PYTHONOPTIMIZE=2`` has it."""
    code = """
from tests.cli.typed import call
for line in (["--help"], ["pgle", "--help"], ["plan", "--help"], ["plan", "fsdp"], ["explain", "memory_fraction"]):
    said = call(*line)
    if said.exit_code:
        raise SystemExit(f"{line}: {said.output} {said.exception}")
tell(said.output)
"""
    assert "python -OO" in told(code, PYTHONOPTIMIZE="2")
