"""Generated files are written after a yes, all or none, and never without what the library needs of them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from jaxgpu_tune.errors import JaxGpuTuneError
from tools.writing import put

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = '{"releases": ["1.0"], "options": {"a": []}}'


@pytest.mark.parametrize("answer", ["", "n\n", "\n", "yes?\n"])
def test_no_answer_and_every_answer_but_yes_is_no(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    put({tmp_path / "jax_options.json": WHOLE}, ask=True)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out.endswith("not written\n")


def test_a_yes_writes_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    put({tmp_path / "jax_options.json": WHOLE}, ask=True)
    assert (tmp_path / "jax_options.json").read_text() == WHOLE
    assert f"+{WHOLE}" in capsys.readouterr().out
    put({tmp_path / "jax_options.json": WHOLE}, ask=True)
    assert capsys.readouterr().out == "jax_options.json: unchanged\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flags.tsv", ""),
        ("jax_options.json", "{}"),
        ("jax_options.json", '{"releases": [], "options": {"a": []}}'),
        ("builds.json", '{"releases": ["1.0"]}'),
    ],
)
def test_an_incomplete_table_is_refused_by_name(name: str, text: str, tmp_path: Path) -> None:
    """And none of those beside it is written."""
    with pytest.raises(JaxGpuTuneError, match=f"table {name} of jaxgpu_tune lacks"):
        put({tmp_path / "other.json": '{"a": 1}', tmp_path / name: text}, ask=False)
    assert list(tmp_path.iterdir()) == []
