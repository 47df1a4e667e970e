"""A table that lacks what it must have says its name when it is read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from jaxgpu_tune.errors import JaxGpuTuneError
from jaxgpu_tune.knowledge import flags, options, pool, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CACHES = (
    *(tables.read_table, tables.read_generated, tables.read_lines),
    *(flags.flag, flags._builds, flags._entry, flags._names, flags._help, options._data, options._spec),
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the tables, which the library reads anew."""
    shutil.copytree(tables.DATA, tmp_path / "data")
    monkeypatch.setattr(tables, "DATA", str(tmp_path / "data"))
    for cached in CACHES:
        cached.cache_clear()
    yield tmp_path / "data"
    for cached in CACHES:
        cached.cache_clear()


@pytest.mark.parametrize(
    ("name", "text", "ask"),
    [
        ("flags.tsv", "", flags.names),
        ("builds.json", "{}", flags.releases),
        ("builds.json", '{"releases": []}', flags.releases),
        ("flag_help.json", "{}", lambda: flags.help_text("xla_gpu_autotune_level")),
        ("jax_options.json", '{"releases": ["1.0"], "options": {}}', lambda: options.names(None)),
        ("authored/memory.json", '{"neighbour": []}', pool.default_fraction),
    ],
)
def test_it_says_its_name(name: str, text: str, ask: Callable[[], object], data: Path) -> None:
    ask()
    for cached in CACHES:
        cached.cache_clear()
    (data / name).write_text(text)
    with pytest.raises(JaxGpuTuneError, match=f"The table {name} of jaxgpu_tune lacks .* Install jaxgpu_tune again"):
        ask()
