"""A text of flags with carets: what XLA does with it and what to write instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.api import checked
from jaxgpu_tune.planning.release.reading import Reading
from jaxgpu_tune.render.reading import reading_lines

GOOD, OLD = "--xla_gpu_autotune_level=2", "--xla_gpu_graph_level=0"


@pytest.mark.parametrize(
    ("text", "faults", "does", "instead"),
    [
        (f"{GOOD} {OLD}", (OLD,), "ends the process on", "--xla_gpu_enable_command_buffer="),
        (f"{GOOD} stray {GOOD}", (f"stray {GOOD}",), "stops without a word", GOOD),
        ("--xla_gpu_autotune_level=x", ("--xla_gpu_autotune_level=x",), "ends the process on", ""),
        ("xla_gpu_x=1", ("xla_gpu_x=1",), "name of a file", ""),
        ("  ", ("  ",), "ends the process", ""),
        (GOOD, (), "reads 1 flag.", GOOD),
        ("", (), "reads 0 flags.", ""),
    ],
)
def test_what_xla_makes_of_a_text(text: str, faults: tuple[str, ...], does: str, instead: str) -> None:
    """Where the fault is, what happens, what was meant."""
    _, read = checked(text, "0.11.2")
    assert tuple(text[start:end] for start, end in read.faults) == faults
    assert does in read.does and instead in read.instead


@given(text=st.text("-xla_gpu= '\"\n\té–1", max_size=60), width=st.integers(20, 100))
def test_a_caret_stands_under_every_character_of_a_fault(text: str, width: int) -> None:
    """In however many lines the text is shown."""
    faults = ((len(text) // 3, len(text) // 2),)
    lines = reading_lines(Reading(text, faults, "reads it.", "", "--other=1"), width)
    shown = lines[: next(at for at, line in enumerate(lines) if line.startswith("XLA "))]
    carets = [column for line in shown for column, c in enumerate(line) if set(line.strip()) == {"^"} and c == "^"]
    assert len(carets) == faults[0][1] - faults[0][0]
    assert all(len(line) <= width for line in shown)


def test_a_good_text_is_not_drawn() -> None:
    """There is nothing to point at."""
    _, read = checked(GOOD, "0.11.2")
    assert reading_lines(read, 80) == []


def test_what_cannot_be_seen_is_shown_by_a_sign() -> None:
    """Ends of lines and tabs by theirs; letters stay as they are."""
    lines = reading_lines(Reading("--a\n\tb\x07é", ((0, 3),), "reads it.", "", "--other=1"), 80)
    assert lines[:2] == ["  --a\u23ce\u21e5b\ufffdé", "  ^^^"]
