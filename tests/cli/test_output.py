"""How a command ends: its exit code, and what is said where."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.cli import output
from jaxgpu_tune.errors import BadSetting, JaxGpuTuneError
from jaxgpu_tune.model import Finding

WRONG = Finding("bad-argument", "error", "It is wrong.", "Write another.")


def ending(error: BaseException) -> Callable[..., int]:
    """A command that ends so."""

    def command(**_: Any) -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status"), [(BadSetting.of([WRONG]), 2), (JaxGpuTuneError.of([WRONG]), 1)], ids=["argument", "other"]
)
def test_an_error_of_ours_is_told_on_stderr(error: JaxGpuTuneError, status: int, capsys: Any) -> None:
    """Without a traceback; 2 where an argument is wrong."""
    assert output.finish(ending(error), {}) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("jaxgpu-tune: ") and "It is wrong." in err


@pytest.mark.parametrize("status", [0, 1, 7])
def test_a_commands_own_exit_code_and_arguments_pass(status: int, capsys: Any) -> None:
    given = {"a": 1, "variable": (), "no_variable": None}
    seen: dict[str, Any] = {}

    def command(**arguments: Any) -> int:
        seen.update(arguments)
        return status

    assert output.finish(command, given) == status and seen == given
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["variable", "no_variable"])
def test_an_older_name_of_an_option_works_and_is_told(name: str, capsys: Any) -> None:
    assert output.finish(lambda **_: 0, {name: ("A=1",)}) == 0
    assert (
        capsys.readouterr().err
        == "note: --variable and --no-variable are called --env and --no-env now; they work still.\n"
    )


def test_what_stdout_cannot_hold_is_told(capsys: Any) -> None:
    error = UnicodeEncodeError("ascii", "aµb", 1, 2, "no")
    assert output.finish(ending(error), {}) == 2
    assert capsys.readouterr().err == "jaxgpu-tune: stdout is ascii, which has no '\\xb5'; set PYTHONUTF8=1.\n"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [("BrokenPipeError", 1, ""), ("OSError(28, 'No space left')", 2, "jaxgpu-tune: [Errno 28] No space left\n")],
)
def test_a_stdout_that_takes_no_more(error: str, status: int, said: str) -> None:
    """Nothing more is tried on it, so that the end of Python raises nothing."""
    code = f"import sys\nfrom jaxgpu_tune.cli.output import finish\nprint('before')\ndef f():\n    raise {error}\nsys.exit(finish(f, {{}}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (status, said)


def test_ctrl_c_is_told_in_a_line_and_is_no_finding(capsys: Any) -> None:
    """Whatever the command was doing: neither a traceback nor the exit code of an error that was found."""

    def command() -> int:
        raise KeyboardInterrupt

    assert output.finish(command, {}) == 130
    assert capsys.readouterr() == ("", "jaxgpu-tune: interrupted.\n")


def test_a_line_without_what_cannot_be_said() -> None:
    """Bytes of the environment that are no text are replaced."""
    stream = io.StringIO()
    output.say("a\udcffb", stream)
    assert stream.getvalue() == "a\ufffdb\n"
    output.print_json({"a": jaxgpu_tune.Machine(jax="µ").processes, "b": ("ä",)}, stream)
    told = json.loads("{" + stream.getvalue().partition("{")[2])
    assert (
        told["a"]["rank"] is None
        and told["b"] == ["ä"]
        and '\n  "a": {' in stream.getvalue()
        and "ä" in stream.getvalue()
    )


def test_errors_and_warnings_are_told_and_notes_are_not(capsys: Any) -> None:
    note, warning = WRONG._replace(severity="note", message="A note."), WRONG._replace(severity="warning")
    output.tell([note])
    assert capsys.readouterr() == ("", "")
    output.tell([note, warning])
    out, err = capsys.readouterr()
    assert out == "" and "It is wrong." in err and "A note." not in err
    assert output.exit_code([note, warning]) == output.exit_code([]) == 0
    assert output.exit_code([note, WRONG]) == 1


class Terminal(io.StringIO):
    """A stdout that is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_colours_are_for_terminals_that_want_them(
    environ: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is coloured, the words are the same."""
    text = "error (a): no\nwarning (b): no\nnote (c): no\n+ new\n- old\nplain error: x"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for stream, expected in ((Terminal(), coloured), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stdout", stream)
        output.show(text)
        written = stream.getvalue()
        lines = written.splitlines()
        assert ["\x1b[" in line for line in lines] == ([True] * 5 + [False] if expected else [False] * 6)
        plain = "\n".join(
            part.partition("m")[2] if number else part for number, part in enumerate(written.split("\x1b["))
        )
        assert expected or written == text + "\n"
        assert plain.replace("\n", "") == text.replace("\n", "")
    assert os.environ["TERM"]
