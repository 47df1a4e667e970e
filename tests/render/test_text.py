"""A report as plain text: short, and with every reason."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.model import Decision, Finding
from jaxgpu_tune.render.text import findings_text, render_details, render_text
from tests.render.written import EMPTY, FULL, LONG

MACHINES = Path(__file__).resolve().parent.parent / "machines"


@pytest.mark.parametrize("width", [40, 80, 100, 140])
def test_details_keep_every_word_within_their_width(width: int) -> None:
    """All but the variables, which are there to be copied, fits the terminal, and nothing is cut off."""
    lines = render_details(FULL, width).split("\n")
    start, end = lines.index("Environment"), lines.index("Machine")
    assert max(len(line) for line in lines[:start] + lines[end:]) <= width
    if width < 100:
        squeezed = "".join("".join(lines).split())
        assert all(d.name in squeezed and "".join(d.reason.split()) in squeezed for d in FULL.decisions)


def test_details_tell_the_worst_first_and_what_is_not_emitted_last() -> None:
    """Findings, then the settings in force, then the others, which share a line where they share a reason."""
    text = render_details(FULL, 100)
    order = [
        "fsdp: applied; 1 set, 1 of yours dropped.",
        "error (an-error): This is wrong",
        "note (a-note): Something",
        "Settings",
        "Nothing emitted for",
        "Environment",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "--xla_unmet, --xla_other (unmet): needs devices >=2, here 1" in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_text_says_what_changed_and_is_short(width: int) -> None:
    """The verdict, what is wrong, a line for each change by its owner; notes and reasons are in the details."""
    lines = render_text(FULL, width).split("\n")
    assert max(map(len, lines)) <= width and len(lines) < 20
    text = "\n".join(lines)
    order = ["fsdp: applied", "error (an-error)", "1 note in the details", "Set by preset fsdp:", f"{LONG}=true"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    assert "Something to know" not in text and "overlaps" not in text and "jax_enable_pgle: dropped" in text


def test_text_counts_what_is_too_long_to_list() -> None:
    """Many changes and many findings still fit a screen, the worst first."""
    many = tuple(Decision("xla_flag", f"xla_{n}", "1", "set", "why", "preset fsdp", "preset") for n in range(50))
    found = tuple(Finding(f"code-{n}", "warning", "long " * 40, "do this") for n in range(40))
    lines = render_text(FULL._replace(decisions=many, findings=(*found, *FULL.findings)), 100).split("\n")
    assert len(lines) <= 25 and "  and 42 more" in lines
    assert next(line for line in lines if line.startswith(("error (", "warning ("))).startswith("error (an-error)")
    assert any(line.startswith("and ") and line.endswith(" more findings") for line in lines)


@pytest.mark.parametrize("machine", ["h200x2_captured", "h100x8", "a100x8", "b200x8", "no_gpu"])
def test_every_preset_fits_a_screen(machine: str) -> None:
    """At most 25 lines of 100 columns, what is found included."""
    for preset in jaxgpu_tune.presets():
        report = jaxgpu_tune.plan(preset.name, environ={}, machine=MACHINES / f"{machine}.json")
        lines = render_text(report, 100).split("\n")
        assert len(lines) <= 25 and max(map(len, lines)) <= 100, preset.name


def test_text_keeps_a_drawing_under_the_fault() -> None:
    """A caret stays below what it points at."""
    lines = findings_text(FULL.findings, 80).split("\n")
    at = next(number for number, line in enumerate(lines) if "<typo>" in line)
    assert lines[at].index("--xla") == lines[at + 1].index("^")


def test_text_shows_an_empty_value_and_quotes_variables_for_a_shell() -> None:
    """An empty value is a value; what is printed can be pasted."""
    text = render_details(FULL, 80)
    assert "--xla_gpu_enable_command_buffer = (empty) (kept)" in text
    assert f"XLA_FLAGS={shlex.quote(FULL.environ['XLA_FLAGS'] or '')}" in text
    assert "JAX_PGLE removed" in text


def test_text_of_an_empty_plan_is_short() -> None:
    """Nothing to say takes two lines."""
    first, second = render_text(EMPTY, 80).split("\n")
    assert first == "fsdp: planned, not applied; nothing is set."
    assert second.endswith("jaxgpu-tune plan fsdp -v")
