"""Tests in a fork of this process, which has imported what they need from elsewhere: only the package and the tests are read anew.

Starting Python and pytest takes seconds, a fork none. ``import_others`` once, then ``in_fork`` as often as wanted.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

OTHERS = ("hypothesis.strategies", "numpy", "click", "rich.console", "rich.table", "packaging.specifiers", "sqlite3")
"""What tests import that is not of this repository; never jax: tests start it in child processes, or not at all."""
OPTIONS = (
    *("-q", "-m", "not slow", "--hypothesis-profile=planted", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),
)

MEMORY = 8 << 30
"""Bytes that a process of the tests may take: a fault can make a loop that ends nowhere and keeps what it makes."""


def import_others() -> None:
    """Import what all forks need; here, once. What hypothesis finds is neither kept nor made small, and is found again."""
    for name in OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("planted", deadline=None, database=None, derandomize=True, phases=phases)


def in_fork(root: Path, work: Callable[..., int], *arguments: Any, patience: float) -> int | None:
    """What ``work`` returns in a fork that stands in the copy at ``root``; None after so many seconds. Whatever it started is ended."""
    process = multiprocessing.get_context("fork").Process(target=_be, args=(root, work, arguments))
    process.start()
    process.join(patience)
    status = process.exitcode
    assert process.pid
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            end(process.pid, signal.SIGKILL)
    process.join()
    return status


def said_in(root: Path) -> Path:
    """The file with what the last fork printed."""
    return root.with_suffix(".said")


def _be(root: Path, work: Callable[..., int], arguments: Iterable[Any]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(said_in(root), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(root)
    os.environ["PYTHONPATH"] = sys.path[0] = str(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]
    os._exit(work(*arguments))


def fails(files: Collection[str], wanted: Mapping[str, int]) -> int:
    """In a fork: pytest's status of the tests ``wanted`` in these files, in that order (of all, where none is named); ends with the first that fails."""
    sys.dont_write_bytecode = True
    return int(pytest.main([*OPTIONS, "-x", *files], plugins=[_Chosen(wanted)]))


class _Chosen:
    """Leaves out what is not wanted, and keeps what was compiled of a fault from the next one."""

    def __init__(self, wanted: Mapping[str, int]) -> None:
        self._wanted = wanted

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._wanted:
            chosen = [item for item in items if item.nodeid in self._wanted]
            items[:] = sorted(chosen, key=lambda item: self._wanted[item.nodeid])
