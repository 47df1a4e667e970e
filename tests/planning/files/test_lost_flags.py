"""A later line that takes the place of flags which were set before: its line, the flags, and how to keep both."""

from __future__ import annotations

import json
from functools import partial

import pytest

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.planning.files.file_faults import LineFault, file_faults

LEVEL, DUMP = "--xla_gpu_autotune_level=2", "--xla_dump_to=/x"


def told(text: str, kind: str) -> list[LineFault]:
    """What is said of flags that are lost."""
    reader = partial(file_faults, check=checker("0.11.2"), migrate=migrator("0.11.2"))
    return [one for one in reader(text, kind) if one.finding.code == "flags-lost"]


def lost(text: str, kind: str = "shell") -> list[int]:
    """The lines that take the place of others."""
    return [one.place.line for one in told(text, kind)]


def test_what_is_said_of_it() -> None:
    """The line of both, the flags that are lost, and those alone."""
    script = f"export XLA_FLAGS='{LEVEL} {DUMP}'\nexport NCCL_DEBUG=INFO\nexport XLA_FLAGS={DUMP}\n"
    (one,) = told(script, "shell")
    assert (one.place.line, one.finding.severity) == (3, "warning")
    assert one.finding.message == (
        f"XLA_FLAGS is one text, and this line writes it anew: what line 1 has set is lost ({LEVEL})."
    )


ENV, EXPORT = (f'Begin with what is there: {word} XLA_FLAGS="$XLA_FLAGS …".' for word in ("ENV", "export"))
JOIN = "Write all flags in one value, with blanks between them."


@pytest.mark.parametrize(
    ("kind", "form", "hint"),
    [
        ("shell", "export XLA_FLAGS={}\nexport XLA_FLAGS={}", EXPORT),
        ("shell", "XLA_FLAGS={}\nA=1 XLA_FLAGS={}", EXPORT),
        ("shell", "docker run -e XLA_FLAGS={} -e XLA_FLAGS={} image", JOIN),
        ("shell", "setenv XLA_FLAGS {}\nsetenv XLA_FLAGS {}", JOIN),
        ("shell", "Environment=XLA_FLAGS={}\nEnvironment=XLA_FLAGS={}", JOIN),
        ("dockerfile", "ENV XLA_FLAGS={}\nENV A=1 XLA_FLAGS={}", ENV),
        ("dockerfile", "ENV XLA_FLAGS={} \\\n XLA_FLAGS={}", JOIN),
        ("dotenv", "XLA_FLAGS={}\nXLA_FLAGS={}", JOIN),
        ("makefile", "XLA_FLAGS = {}\nexport XLA_FLAGS := {}", "Add to what is there: XLA_FLAGS += …."),
        ("makefile", "ifdef D\nXLA_FLAGS = {}\nendif\nXLA_FLAGS = {}", "Add to what is there: XLA_FLAGS += …."),
    ],
)
def test_how_to_keep_both_is_said_in_the_words_of_the_file(kind: str, form: str, hint: str) -> None:
    assert [one.finding.hint for one in told(f"{form.format(LEVEL, DUMP)}\n", kind)] == [hint]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("yaml", "a:\n  environment:\n    - XLA_FLAGS={}\n    - XLA_FLAGS={}\n"),
        ("yaml", "a:\n  environment:\n    XLA_FLAGS: {}\n    XLA_FLAGS: {}\n"),
        ("yaml", "env:\n- name: XLA_FLAGS\n  value: {}\n- name: A\n  value: b\n- name: XLA_FLAGS\n  value: {}\n"),
        ("yaml", "env:\n- {{name: XLA_FLAGS, value: {}}}\n- {{name: XLA_FLAGS, value: {}}}\n"),
        ("yaml", "run: |\n  export XLA_FLAGS={}\n  export XLA_FLAGS={}\n  python t.py\n"),
        ("json", '{{"containerEnv": {{\n  "XLA_FLAGS": "{}",\n  "XLA_FLAGS": "{}"\n}}}}'),
        ("json", '"environment": [\n  {{"name": "XLA_FLAGS", "value": "{}"}},\n  {{"name": "XLA_FLAGS", "value": "{}"}}]'),
    ],
)  # fmt: skip
def test_one_program_that_gets_it_twice(kind: str, form: str) -> None:
    assert len(lost(form.format(LEVEL, DUMP), kind)) == 1


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("yaml", "a:\n  env:\n  - name: XLA_FLAGS\n    value: {}\nb:\n  env:\n  - name: XLA_FLAGS\n    value: {}\n"),
        ("yaml", "a: {{XLA_FLAGS: {}}}\nb: {{XLA_FLAGS: {}}}\n"),
        ("yaml", "matrix:\n  include:\n    - XLA_FLAGS: {}\n    - XLA_FLAGS: {}\n"),
        ("yaml", "matrix:\n - {{name: XLA_FLAGS, value: {}}}\n - {{name: XLA_FLAGS, value: {}}}\n"),
        ("yaml", "env:\n  - XLA_FLAGS={}\n  - XLA_FLAGS={}\n"),
        ("yaml", "s:\n - run: |\n    export XLA_FLAGS={}\n - run: |\n    export XLA_FLAGS={}\n"),
        ("json", '{{"a": {{"XLA_FLAGS": "{}"}}, "b": {{"XLA_FLAGS": "{}"}}}}'),
        ("json", '{{\n "a": {{"XLA_FLAGS": "{}"}},\n "b": {{"XLA_FLAGS": "{}"}}\n}}'),
        ("json", '{{\n "a": {{\n  "XLA_FLAGS": "{}"}},\n "b": {{\n  "XLA_FLAGS": "{}"}}\n}}'),
        ("makefile", "XLA_FLAGS = {}\nXLA_FLAGS ?= {}\n"),
        ("makefile", "XLA_FLAGS = {}\nXLA_FLAGS += {}\n"),
        ("makefile", "XLA_FLAGS = {}\nXLA_FLAGS := $(XLA_FLAGS) {}\n"),
        ("makefile", "ifdef D\nXLA_FLAGS = {}\nelse\nXLA_FLAGS = {}\nendif\n"),
        ("makefile", "a: export XLA_FLAGS = {}\nb: export XLA_FLAGS = {}\n"),
        ("makefile", "a:\n\tXLA_FLAGS={} python a\nb:\n\tXLA_FLAGS={} python b\n"),
        ("dotenv", "XLA_FLAGS={}\nXLA_FLAGS=${{XLA_FLAGS}} {}\n"),
    ],
)  # fmt: skip
def test_several_programs_that_get_it_once(kind: str, form: str) -> None:
    """Also the entries of a matrix, of which each is a run of its own."""
    assert lost(form.format(LEVEL, DUMP), kind) == []


@pytest.mark.parametrize(
    ("cells", "places"),
    [
        ((f"%env XLA_FLAGS={LEVEL}", "import jax", f"%env XLA_FLAGS={DUMP}"), ["cell 3, line 1"]),
        ((f"import os\nos.environ['XLA_FLAGS'] = '{LEVEL}'", f"%env XLA_FLAGS={DUMP}"), ["cell 2, line 1"]),
        ((f"%env XLA_FLAGS={LEVEL}", f"%env XLA_FLAGS=$XLA_FLAGS {DUMP}"), []),
        ((f"%env XLA_FLAGS={LEVEL}", "!python a.py", f"%env XLA_FLAGS={DUMP}"), []),
        ((f"%env XLA_FLAGS={LEVEL}", "%run a.py", f"%env XLA_FLAGS={DUMP}"), []),
    ],
)
def test_cells_of_a_notebook_run_one_after_the_other(cells: tuple[str, ...], places: list[str]) -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": source} for source in cells]})
    assert [str(one.place) for one in told(text, "notebook")] == places
