"""No module of the package needs one that needs it: neither when it is imported nor, but for the named cases, when it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.house import circle, graph

ROOT = Path(__file__).resolve().parent.parent
TYPES = "if TYPE_CHECKING:"
LATER = {
    ("machine", "machine_file"): "Machine.from_dict() checks what it is given, which names the values themselves",
    ("machine", "render.html"): "what notebooks show renders inside the method",
    ("model", "render.html"): "what notebooks show renders inside the method",
    ("model", "render.text"): "str(report) renders inside the method",
    ("model", "session"): "report.restore() plans what is left of the calls inside the method",
}
"""Imports inside functions that go in a circle, and why: the values that everything is made of show themselves."""


def test_importing_goes_in_no_circle() -> None:
    assert circle(graph(ROOT, later=False)) == []


def test_calling_goes_in_no_circle_but_those_that_are_named() -> None:
    assert circle(graph(ROOT, later=True), LATER) == []


@pytest.mark.parametrize("one", sorted(LATER), ids=" to ".join)
def test_each_named_circle_is_there(one: tuple[str, str]) -> None:
    """One that nothing needs any more is taken off the list."""
    assert one[0] in circle(graph(ROOT, later=True), {*LATER} - {one})


@pytest.mark.parametrize(
    "line", ["from . import a", "from .a import f", "from jaxgpu_tune.inner.a import f", "from ..inner.a import f"]
)
def test_a_circle_is_seen(tmp_path: Path, line: str) -> None:
    """By whatever words; inside functions only if that is asked for, and of types alone never."""
    folder = tmp_path / "jaxgpu_tune" / "inner"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        (path / "__init__.py").write_text("")
    (folder / "a.py").write_text("from .b import g\n")
    for text, found in (
        (line, (True, True)),
        (f"def h():\n    {line}", (False, True)),
        (f"{TYPES}\n    {line}", (False, False)),
    ):
        (folder / "b.py").write_text(f"{text}\n")
        seen = [
            set(circle(graph.__wrapped__(tmp_path, later=later))) == {"inner.a", "inner.b"} for later in (False, True)
        ]
        assert tuple(seen) == found
