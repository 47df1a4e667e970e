"""From the start of a process until jax is imported: jax is found and run by those who would have done it anyway."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jaxgpu_tune.measure.observer.until_jax import _Finder, first_words


@pytest.fixture
def finder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Finder:
    """In a process whose jax is a file of one line; ``acted`` is what it did."""
    (tmp_path / "jax.py").write_text("value = 5\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    finder = _Finder(lambda: acted.append("acted"))
    acted.clear()
    sys.meta_path.insert(0, finder)
    return finder


acted: list[str] = []


def loaded(finder: _Finder) -> tuple[ModuleType, Any]:
    """The module and its loader, before it is run."""
    spec = finder.find_spec("jax")
    assert spec is not None and spec.loader is not None
    return module_from_spec(spec), spec.loader


def test_it_acts_once_after_jax_has_run_and_goes_away(finder: _Finder) -> None:
    module, loader = loaded(finder)
    assert acted == [] and finder in sys.meta_path
    loader.exec_module(module)
    assert (module.value, acted) == (5, ["acted"])
    assert finder not in sys.meta_path and "exec_module" not in vars(loader)
    loader.exec_module(module)
    assert acted == ["acted"]


def test_every_other_module_is_left_to_the_others(finder: _Finder) -> None:
    assert finder.find_spec("json") is None and finder.find_spec("jaxlib") is None
    finder.searching = True
    assert finder.find_spec("jax") is None


def test_who_else_has_changed_how_jax_runs_is_let_be(finder: _Finder) -> None:
    """As ``configure()`` before the import does."""
    module, loader = loaded(finder)
    loader.exec_module = theirs = lambda module: setattr(module, "theirs", True)
    finder._prepare(loader)
    loader.exec_module(module)
    assert module.theirs and acted == ["acted"] and vars(loader)["exec_module"] is theirs


def test_a_program_without_jax_still_gets_its_own_error(finder: _Finder, tmp_path: Path) -> None:
    (tmp_path / "jax.py").unlink()
    sys.meta_path[:] = [finder]
    assert finder.find_spec("jax") is None and not finder.searching and acted == []


def test_the_first_words_say_who_it_is() -> None:
    words = first_words()
    assert (words["pid"], words["state"]) == (os.getpid(), "no jax")
    assert words["argv"] == sys.orig_argv and words["python"].count(".") == 2
