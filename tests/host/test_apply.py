"""The one writer: a live jax's options set and given back, and when a program may not be started again."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jaxgpu_tune.host import apply, import_hook
from jaxgpu_tune.host.marker import marked_environ
from jaxgpu_tune.model import Finding, Processes
from jaxgpu_tune.state import State


class Config:
    """A jax.config with two options, as far as this library uses one."""

    def __init__(self) -> None:
        self.values = {"jax_enable_x64": False, "jax_debug_nans": False}

    def update(self, name: str, value: object) -> None:
        self.values[name] = value


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    """That of a live jax in which nothing of ours is set."""
    made = Config()
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=made, __version__="0.11.2"))
    monkeypatch.setattr(apply, "_former_options", {})
    return made


def test_options_are_set_replaced_and_given_back(config: Config) -> None:
    """A second call takes the first one's place; what was there before comes back."""
    apply._write_options({"jax_enable_x64": True}, "0.11.2")
    assert config.values == {"jax_enable_x64": True, "jax_debug_nans": False}
    apply._write_options({"jax_debug_nans": True}, "0.11.2")
    assert config.values == {"jax_enable_x64": False, "jax_debug_nans": True}
    apply.give_back({})
    assert config.values == {"jax_enable_x64": False, "jax_debug_nans": False} and apply._former_options == {}


def test_an_option_that_the_program_changed_since_is_the_programs(config: Config) -> None:
    apply._write_options({"jax_enable_x64": True}, "0.11.2")
    config.update("jax_enable_x64", "the program's")
    apply.give_back({})
    assert config.values["jax_enable_x64"] == "the program's"


def test_none_is_jaxs_own_default_and_an_unknown_option_is_left_alone(config: Config) -> None:
    config.update("jax_enable_x64", True)
    apply._write_options({"jax_enable_x64": None, "jax_no_such_option": True}, "0.11.2")
    assert config.values == {"jax_enable_x64": False, "jax_debug_nans": False}
    apply.give_back({})
    assert config.values["jax_enable_x64"] is True


def test_what_options_were_is_told_as_long_as_they_are_ours(config: Config) -> None:
    """What the program changed since is told as what it is now."""
    apply._write_options({"jax_enable_x64": True, "jax_debug_nans": True}, "0.11.2")
    assert apply.former_options() == {"jax_enable_x64": False, "jax_debug_nans": False}
    assert apply.changed_options() == {}
    config.update("jax_debug_nans", "else")
    assert apply.former_options() == {"jax_enable_x64": False}
    assert apply.changed_options() == {"jax_debug_nans": "else"}


def test_a_variable_that_was_changed_behind_the_import_is_unread_while_its_option_is_ours(config: Config) -> None:
    """What this library wrote, and what it changed nothing by, are not."""
    apply._write_options({"jax_enable_x64": True, "jax_debug_nans": False}, "0.11.2")
    environ = marked_environ({}, {"JAX_ENABLE_X64": "true", "JAX_DEBUG_NANS": "false"}, State())
    assert apply.changed_behind_import(environ) == {}
    changed = {**environ, "JAX_ENABLE_X64": "other", "JAX_DEBUG_NANS": "other"}
    assert apply.changed_behind_import(changed) == {"JAX_ENABLE_X64": (None, "true")}
    config.update("jax_enable_x64", "else")
    assert apply.changed_behind_import(changed) == {}


def test_what_no_variable_carries_waits_for_the_import_of_jax(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest its import reads from the variables; a later call takes the place of what waits."""
    waiting: list[tuple[str, Any]] = []
    live = sys.modules["jax"]
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setattr(import_hook, "when_imported", lambda name, action: waiting.append((name, action)))
    guard = "jax_transfer_guard_host_to_device"
    apply._write_options({guard: "log", "jax_enable_x64": True}, "0.11.2")
    ((name, action),) = waiting
    assert name == "jax" and config.values == {"jax_enable_x64": False, "jax_debug_nans": False}
    monkeypatch.setitem(sys.modules, "jax", live)
    config.values[guard] = "allow"
    action()
    assert config.values == {"jax_enable_x64": False, "jax_debug_nans": False, guard: "log"}
    monkeypatch.delitem(sys.modules, "jax")
    apply._write_options({"jax_enable_x64": True}, "0.11.2")
    assert len(waiting) == 1


def test_variables_are_written_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "was")
    monkeypatch.setenv("GONE", "was")
    apply._write_environ({"MINE": "is", "GONE": None, "NEVER_THERE": None})
    assert os.environ["MINE"] == "is" and "GONE" not in os.environ and "NEVER_THERE" not in os.environ


def test_what_was_interrupted_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "was")
    apply._pending[:] = [{"MINE": "is"}]
    apply.finish_writing()
    assert os.environ["MINE"] == "is" and apply._pending == []
    apply.finish_writing()


@pytest.mark.parametrize(("shell", "notebook"), [(object(), True), (None, False)])
def test_a_notebook_has_a_shell(shell: object, notebook: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython may be imported by any library."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert apply.in_notebook() is notebook
    assert ("notebook" in apply.why_not_again()) is notebook


def test_without_ipython_it_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not apply.in_notebook()
    assert apply.why_not_again() == "pytest runs this process"


def test_it_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child, which inherits the variable, has another number."""
    monkeypatch.setenv(apply.REEXECUTED, str(os.getpid()))
    assert apply.why_not_again().startswith("it was done once already")
    monkeypatch.setenv(apply.REEXECUTED, str(os.getppid()))
    assert not apply.why_not_again().startswith("it was done once already")


@pytest.mark.parametrize(("local_rank", "heard"), [(None, ["error", "warning"]), (0, ["error", "warning"]), (1, [])])
def test_one_process_of_a_host_speaks_once(
    local_rank: int | None, heard: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Notes stay in the report."""
    monkeypatch.setattr(apply, "_announced", set())
    findings = [Finding(word, word, f"This is {word}.", "Do that.") for word in ("error", "warning", "note")]
    for _ in range(2):
        apply.announce(findings, Processes(local_rank=local_rank))
    assert [record.levelname.lower() for record in caplog.records if record.name == "jaxgpu_tune"] == heard
    assert all(record.levelno >= logging.WARNING and "Do that." in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("words", "file", "folder"),
    [
        (["python", "/a/b/job.py"], "/a/b/job.py", None),
        (["python", "job.py", "x"], "/a/b/job.py", "/a/b/"),
        (["python", "-X", "dev", "-u", "b/job.py", "b"], "/a/b/job.py", "/a/"),
        (["python", "-u", "", "b.py"], "/a/b/job.py", None),
        (["python", "-c", "pass"], "", None),
    ],
)
def test_the_folder_to_which_a_scripts_path_is_relative(
    words: list[str], file: str, folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word of the command line that names the script tells; else the folder of the start is taken."""
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=file, __spec__=None))
    monkeypatch.setattr(sys, "orig_argv", words)
    assert apply._folder_at_start() == (folder or apply.FOLDER)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=file, __spec__=object()))
    assert apply._folder_at_start() == apply.FOLDER


def test_what_is_read_once_cannot_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, or stdin; a file can, and so can what stands on the command line."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for file, words, once in (
        ("<stdin>", ["-"], True),
        ("", [""], True),
        ("", ["-c"], False),
        (str(tmp_path / "file"), ["x"], False),
        (str(tmp_path / "gone"), ["x"], False),
        (str(tmp_path / "pipe"), ["x"], True),
    ):
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=file))
        monkeypatch.setattr(sys, "argv", words)
        assert apply._is_read_once() is once


def test_a_fork_and_a_process_of_multiprocessing_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "multiprocessing.process", raising=False)
    assert apply._is_worker() is False
    for parent in (None, object()):
        process = SimpleNamespace(parent_process=lambda parent=parent: parent)
        monkeypatch.setitem(sys.modules, "multiprocessing.process", process)
        assert apply._is_worker() is (parent is not None)
    monkeypatch.delitem(sys.modules, "multiprocessing.process")
    monkeypatch.setattr(apply, "PROCESS", os.getppid())
    assert apply._is_worker() is True
