"""The committed reference is what the tables say, and leaves no flag and no preset out."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags as known
from tools import make_docs

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_committed_pages_are_up_to_date() -> None:
    assert [path.name for path in make_docs.stale_pages()] == [], "run: python -m tools.make_docs"


def test_every_flag_and_every_preset_has_its_place() -> None:
    flags = flags_page().splitlines()
    assert sorted(line[5:] for line in flags if line.startswith("#### ")) == sorted(known.names())
    pages = {path.stem for path in (make_docs.DOCS / "presets").glob("*.md")}
    assert pages == {"index", *(p.name for p in jaxgpu_tune.presets())}


@cache
def flags_page() -> str:
    return make_docs.flags_page()


def section(name: str) -> str:
    return flags_page().split(f"#### {name}\n", 1)[1].split("\n#", 1)[0]


def test_a_flag_says_its_life_its_defaults_its_surfaces_and_what_stands_for_it() -> None:
    removed = section("xla_gpu_graph_level")
    assert "to 0.7.1" in removed and "`--xla_gpu_enable_command_buffer=`" in removed
    changed = section("xla_gpu_enable_cublaslt")
    assert "`true` since" in changed and "`false` from 0.4.18" in changed
    assert "process-wide" in section("xla_gpu_nccl_termination_timeout_seconds")
    assert "compile option" not in section("xla_gpu_enable_pipelined_all_gather")
    assert "`fsdp`: `on`" in section("xla_gpu_pipeline_all_gather")


def test_check_tells_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("old\n")
    monkeypatch.setattr(make_docs, "PAGES", {page: lambda: "new\n"})
    monkeypatch.setattr(sys, "argv", ["make_docs", "--check"])
    assert make_docs.main() == 1
    assert page.read_text() == "old\n"
    assert "-old\n+new\n" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["make_docs"])
    assert make_docs.main() == 0
    assert page.read_text() == "new\n"
    monkeypatch.setattr(sys, "argv", ["make_docs", "--check"])
    assert make_docs.main() == 0
