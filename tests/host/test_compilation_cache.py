"""Where jax keeps what it compiles: whether it can, and that the names are jax's own."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from jaxgpu_tune.host import compilation_cache as cache
from jaxgpu_tune.knowledge.options import option
from jaxgpu_tune.planning.settings.setting_names import CACHE_OPTION


def test_the_names_are_jaxs() -> None:
    """Of its options, and of the module that settles them."""
    assert all(option(name, None) for name in cache.OPTIONS)
    assert CACHE_OPTION in cache.OPTIONS and len(set(cache.OPTIONS)) == 2
    jax = importlib.util.find_spec("jax")
    assert jax is not None and jax.origin is not None
    module = Path(jax.origin).parent.joinpath(*cache.MODULE.split(".")[1:]).with_suffix(".py").read_text()
    assert "def is_initialized()" in module and "def reset_cache()" in module


def codes(folder: object) -> list[str]:
    """What is told of a directory."""
    return [finding.code for finding in cache.cache_folder_findings(None if folder is None else str(folder))]


def test_a_directory_that_can_be_made_or_written_to_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is named from here; jax makes what is missing."""
    monkeypatch.chdir(tmp_path)
    for folder in (None, "", tmp_path, tmp_path / "new" / "one", "new", ".", "new/one"):
        assert codes(folder) == []


def test_a_file_and_what_lies_below_one_cannot_hold_it(tmp_path: Path) -> None:
    """The path that is in the way is named."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "one" / "two"):
        (finding,) = cache.cache_folder_findings(str(folder))
        assert (finding.code, finding.severity) == ("cache-unwritable", "warning")
        assert f"={folder}: {tmp_path / 'file'} is no directory" in finding.message
    (tmp_path / "gone").symlink_to("/nowhere/else")
    assert codes(tmp_path / "gone" / "one") == ["cache-unwritable"]


@pytest.mark.parametrize("right", [os.W_OK, os.X_OK])
def test_a_directory_without_the_right_to_write_is_told(
    right: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may do everything, so the answer of the system is given here."""
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & right)
    (finding,) = cache.cache_folder_findings(str(tmp_path / "new"))
    assert finding.code == "cache-unwritable" and f"{tmp_path} cannot be written to" in finding.message


@pytest.mark.parametrize("there", [True, False])
def test_an_address_needs_etils(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if there:
        (tmp_path / "etils").mkdir()
        (tmp_path / "etils" / "__init__.py").write_text("")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert codes("gs://bucket/cache") == ([] if there else ["cache-address"])
