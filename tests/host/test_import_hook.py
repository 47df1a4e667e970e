"""What is done once a module is imported: once, after its own code, and never when it was taken back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxgpu_tune.host import apply, import_hook

NAME = "a_module_to_wait_for"


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that says what it has done."""
    path = tmp_path / f"{NAME}.py"
    path.write_text("done = ['its own code']\n")
    (tmp_path / "another_module.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    import_hook.cancel()
    for name in (NAME, "another_module"):
        sys.modules.pop(name, None)


def hooks() -> list[object]:
    """The finders that are ours."""
    return [finder for finder in sys.meta_path if type(finder).__module__ == import_hook.__name__]


def act() -> None:
    """What is to be done."""
    sys.modules[NAME].done.append("then ours")


def test_it_acts_once_after_the_modules_own_code_and_leaves_nothing() -> None:
    import_hook.when_imported(NAME, act)
    importlib.import_module("another_module")
    assert len(hooks()) == 1
    module = importlib.import_module(NAME)
    assert module.done == ["its own code", "then ours"] and hooks() == []
    assert importlib.reload(module).done == ["its own code"]


def test_looking_for_the_module_is_not_importing_it() -> None:
    import_hook.when_imported(NAME, act)
    assert importlib.util.find_spec(NAME) is not None and len(hooks()) == 1
    assert importlib.import_module(NAME).done == ["its own code", "then ours"]


def test_the_last_one_counts() -> None:
    import_hook.when_imported(NAME, lambda: sys.modules[NAME].done.append("an earlier one"))
    import_hook.when_imported(NAME, act)
    assert len(hooks()) == 1
    assert importlib.import_module(NAME).done == ["its own code", "then ours"]


def test_an_import_that_fails_is_waited_for_again(module: Path) -> None:
    import_hook.when_imported(NAME, act)
    sound = module.read_text()
    module.write_text("raise ImportError('not yet')\n")
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module(NAME)
    module.write_text(sound + "\n")
    importlib.invalidate_caches()
    assert importlib.import_module(NAME).done == ["its own code", "then ours"]


def test_what_is_taken_back_is_not_done() -> None:
    import_hook.when_imported(NAME, act)
    import_hook.cancel()
    assert hooks() == [] and importlib.import_module(NAME).done == ["its own code"]


def test_taken_back_between_finding_and_running_it_is_not_done() -> None:
    import_hook.when_imported(NAME, act)
    spec = importlib.util.find_spec(NAME)
    assert spec is not None and spec.loader is not None
    import_hook.cancel()
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])
    assert sys.modules[NAME].done == ["its own code"]


def test_restore_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a later import finds the module as its author made it."""
    import_hook.when_imported(NAME, act)
    apply.give_back({})
    assert hooks() == [] and importlib.import_module(NAME).done == ["its own code"]
