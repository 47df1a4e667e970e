"""The files that a command line names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxgpu_tune.cli import text_files
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.planning.files.file_kinds import KINDS


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    """With its ends of lines; what is no file, is gone, or is no text, is told by its name."""
    file = tmp_path / "x.sh"
    file.write_bytes("ä\r\nb\n".encode())
    assert text_files.read_file(str(file)) == "ä\r\nb\n"
    with pytest.raises(BadSetting, match=r"gone' cannot be read: No such file"):
        text_files.read_file(str(tmp_path / "gone"))
    with pytest.raises(BadSetting, match="it is no regular file"):
        text_files.read_file(str(tmp_path))
    file.write_bytes(b"\xff")
    with pytest.raises(BadSetting, match=r"x\.sh' cannot be read: byte 1 is no UTF-8 text.*iconv"):
        text_files.read_file(str(file))


def test_the_kind_that_is_said_comes_before_the_name() -> None:
    assert set(text_files.KINDS_OF.values()) == set(KINDS) and text_files.AS.choices == tuple(text_files.KINDS_OF)
    for said, kind in text_files.KINDS_OF.items():
        assert text_files.kind_of("x.sh", "t", said) == kind
    assert text_files.kind_of("x.py", "", None) == "python"
    with pytest.raises(BadSetting, match="its name does not tell") as raised:
        text_files.kind_of("x", "", None)
    assert raised.value.findings[0].hint == f"Say it: --as {'|'.join(text_files.KINDS_OF)}."


@pytest.mark.parametrize("error", [SyntaxError("bad"), ValueError("bad"), RecursionError("bad"), MemoryError("bad")])
def test_a_file_that_is_not_of_its_kind_is_told(error: Exception) -> None:
    def reader(_: str, __: str) -> None:
        raise error

    with pytest.raises(BadSetting, match=r"--file 'x\.py' cannot be read as python: bad\."):
        text_files.read_as("x.py", "", "python", reader)


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_is_left_to_whoever_runs_the_program() -> None:
    """Python 3.12 says on stderr that ``\\d`` is no escape."""
    assert text_files.read_as("x.py", "x = '\\d'", "python", lambda text, _: len(ast.parse(text).body)) == 1


def test_a_text_that_is_the_name_of_a_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where all of it are files."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).touch()
    assert text_files.text_of(("a", "b"), (), "check") == "a b"
    assert capsys.readouterr().err == "a is a file. To look at what it sets: jaxgpu-tune check --file a --file b\n"
    assert [text_files.text_of(words, (), "check") for words in (("a", "gone"), (), ("--xla_a=1",))] == [
        *("a gone", None, "--xla_a=1")
    ]
    assert text_files.text_of((), ("a",), "check") is None and capsys.readouterr().err == ""
    with pytest.raises(BadSetting, match="Give either TEXT or --file, not both"):
        text_files.text_of(("a",), ("b",), "check")
