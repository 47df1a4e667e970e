"""The forms of a report, made of values written by hand."""

from __future__ import annotations

import json
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.model import Decision, Finding, Gpu, Machine, Processes, Report
from jaxgpu_tune.render.environ import FORMATS, PARSED, render_environ
from jaxgpu_tune.render.html import render_html
from jaxgpu_tune.render.parts import machine_line
from jaxgpu_tune.render.text import findings_text, render_details, render_text
from tests.fleet import machine

MACHINES = Path(__file__).resolve().parent.parent / "machines"
LONG = "--xla_gpu_enable_latency_hiding_scheduler"


EMPTY = Report(preset="fsdp", machine=Machine(), xla_flags="", environ={}, jax_config={}, decisions=(), findings=())
FULL = EMPTY._replace(
    applied=True,
    environ={"XLA_FLAGS": "--xla_a=1 --xla_b='x y'", "JAX_PGLE": None},
    decisions=(
        Decision("xla_flag", "xla_unmet", None, "unmet", "needs devices >=2, here 1", "preset fsdp", "preset"),
        Decision(
            "xla_flag", LONG[2:], "true", "set", "overlaps collectives with computation " * 3, "preset fsdp", "preset"
        ),
        Decision("xla_flag", "xla_gpu_enable_command_buffer", "", "kept", "was set already", "XLA_FLAGS"),
        Decision("xla_flag", "xla_other", None, "unmet", "needs devices >=2, here 1", "preset fsdp", "preset"),
        Decision("jax_config", "jax_enable_pgle", None, "dropped", "<b>unknown</b> here", ""),
    ),
    findings=(
        Finding("a-note", "note", "Something to know."),
        Finding("an-error", "error", "This is wrong:\n  --xla_<typo>\n  ^^^^^^^", "Write it right & well."),
    ),
    machine=Machine(
        gpus=(Gpu(0, name="NVIDIA H100", compute_capability="9.0", memory_bytes=80 << 30),) * 2,
        jaxlib="0.5.1",
        plugins={"jax-cuda12-pjrt": "0.5.1"},
        processes=Processes(rank=1, count=2, launcher="slurm"),
    ),
)


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
    assert next(line for line in lines[1:] if "(" in line).startswith("error (an-error)")
    assert any(line.startswith("and ") and line.endswith(" more findings") for line in lines)


@pytest.mark.parametrize("machine", ["h200x2_captured", "h100x8", "a100x8", "b200x8", "no_gpu"])
def test_every_preset_fits_a_screen(machine: str) -> None:
    """At most 25 lines of 100 columns, what is found included."""
    for preset in jaxgpu_tune.presets():
        report = jaxgpu_tune.plan(preset.name, environ={}, machine=MACHINES / f"{machine}.json")
        lines = render_text(report, 100).split("\n")
        assert len(lines) <= 25 and max(map(len, lines)) <= 100, preset.name


@pytest.mark.parametrize(
    ("machine", "told"), [("no_gpu", "there is no NVIDIA GPU here, so the preset sets nothing."), ("b200x8", "1 set, the preset sets nothing.")]
)  # fmt: skip
def test_what_is_asked_for_does_not_hide_that_the_preset_sets_nothing(machine: str, told: str) -> None:
    """The first line says both."""
    report = jaxgpu_tune.plan("fsdp", environ={}, machine=MACHINES / f"{machine}.json", flags={"xla_dump_to": "x"})
    assert " ".join(render_text(report, 200).split()).partition(" Asked")[0].partition(" warning")[0].endswith(told)


@pytest.mark.parametrize(
    ("preset", "machine", "jaxlib", "told"),
    [
        ("fsdp", "h200x2_captured", "0.11.2", "Measured on 2 x H200, jaxlib 0.11.2: "),
        ("fsdp", "h200x2_captured", "0.11.0", "Not measured on 2 x H200, jaxlib 0.11.0. On 2 x H200, jaxlib 0.11.2: "),
        ("fsdp", "h100x8", "0.11.2", "Not measured on 8 x H100 80GB HBM3, jaxlib 0.11.2. On 2 x H200"),
        ("jax-nccl", "h100x8", "0.5.1", "Not measured on 8 x H100"),
        ("auto", "h100x8", "0.11.2", "nothing is set"),
    ],
)
def test_the_verdict_says_what_it_is_worth_here(preset: str, machine: str, jaxlib: str, told: str) -> None:
    """Only a measurement on as many such GPUs and on this jaxlib counts as made here."""
    report = jaxgpu_tune.plan(preset, environ={}, machine=MACHINES / f"{machine}.json", jaxlib=jaxlib)
    assert told in " ".join(render_text(report, 200).split())


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


def test_what_is_set_already_and_wins_over_the_preset_is_said_at_once() -> None:
    """The value of a container image, for example."""
    set_already = {"XLA_FLAGS": "--xla_gpu_command_buffer_scheduling_mode=SERIALIZE"}
    first = render_text(
        jaxgpu_tune.plan("simulation", machine=machine("H200", 1), environ=set_already), 200
    ).splitlines()[0]
    assert first == (
        "simulation: planned, not applied; nothing is set, 1 of yours kept, which the preset would set otherwise."
    )


def test_the_machine_is_one_line() -> None:
    """Equal GPUs are counted; the process is named only where there are several."""
    assert machine_line(FULL.machine) == (
        "2 x NVIDIA H100 (cc 9.0, 80 GiB), jax unknown, jaxlib 0.5.1, jax-cuda12-pjrt 0.5.1, process 1 of 2 (slurm)"
    )
    assert machine_line(Machine(gpus=())).startswith("no GPU, ")


class _Balance(HTMLParser):
    """Checks that every tag that opens is closed, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_well_formed_and_escapes_everything() -> None:
    """Markup in values and messages shows as text."""
    page = render_html(FULL)
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    assert "<b>unknown</b>" in parser.text and "--xla_<typo>" in parser.text and "right & well" in parser.text
    assert "<typo>" not in page


def test_html_folds_the_details_and_tells_findings_first() -> None:
    """What changes is open; reasons, notes, what is not emitted, the environment and the machine are folded."""
    page = render_html(FULL)
    assert page.index("This is wrong") < page.index(LONG) < page.index("<details>") < page.index("xla_unmet")
    assert page.count("<details>") == 5 and page.index("<details>") < page.index("Something to know")
    assert "<details>" not in render_html(EMPTY).replace("<details><summary>Machine", "")


NASTY = {
    "XLA_FLAGS": "--xla_a=1 --xla_b='x \"y\"' $HOME `id` \\ !",
    "EMPTY": "",
    "GONE": None,
    "UNICODE": "ü—",
}


def test_sh_reads_back_what_was_written() -> None:
    """A real shell evaluates it; a removed variable is gone."""
    script = render_environ(NASTY, "sh") + "\nenv -0"
    done = subprocess.run(
        ["sh", "-c", script], env={"GONE": "x", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    found = dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if line)
    assert {name: found.get(name) for name in NASTY} == NASTY


def test_fish_and_dotenv_escape_only_what_single_quotes_do_not_protect() -> None:
    """Backslash and the quote itself."""
    assert render_environ({"A": "it's \\ $x"}, "fish") == "set -gx A 'it\\'s \\\\ $x'"
    assert render_environ({"A": "it's", "B": None}, "dotenv") == "A='it\\'s'\n# B must not be set"
    assert render_environ({"B": None}, "fish") == "set -e B"


def test_json_keeps_what_is_to_be_removed() -> None:
    """As null."""
    assert json.loads(render_environ(NASTY, "json")) == NASTY


@pytest.mark.parametrize("form", sorted(set(FORMATS) - set(PARSED)))
def test_no_change_is_no_code(form: str) -> None:
    """Nothing to evaluate."""
    assert render_environ({}, form) == ""


@pytest.mark.parametrize("changes", [{}, {"B": None}])
def test_no_change_is_still_what_a_program_can_parse(changes: dict[str, str | None]) -> None:
    """An empty object or list, never nothing at all."""
    assert json.loads(render_environ(changes, "json")) == changes
    assert json.loads(render_environ(changes, "ray")) == {"env_vars": {}}
    assert render_environ(changes, "compose").splitlines()[0] == "environment: {}"
    assert render_environ(changes, "kubernetes").splitlines()[0] == "env: []"
