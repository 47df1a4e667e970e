"""Which kind a file is, by its name or its first line; and that each kind is read for any variable."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune.planning.files.file_kinds import KINDS, file_kind, place_of, sites_of


@pytest.mark.parametrize(
    ("kind", "endings"),
    [
        ("python", ".py .pyi"),
        ("notebook", ".ipynb"),
        ("yaml", ".yaml .yml"),
        ("dotenv", ".env"),
        (
            "shell",
            ".sh .bash .zsh .ksh .fish .csh .tcsh .sbatch .slurm .pbs .lsf .bashrc .bash_profile .profile .zshrc .envrc .def .service",
        ),
        ("makefile", ".mk"),
        ("json", ".json .jsonc"),
        ("toml", ".toml"),
        ("lua", ".lua"),
        ("dockerfile", ".dockerfile .containerfile"),
    ],
)
def test_each_ending_tells_a_kind_that_can_be_asked_for(kind: str, endings: str) -> None:
    """Whatever its case and folder; the same letters without the dot tell nothing."""
    assert kind in KINDS and KINDS[-1] == "text"
    for ending in endings.split():
        assert file_kind(f"/a.b/x{ending}", "") == file_kind(f"C:\\a\\X{ending.upper()}", "") == kind
        assert file_kind(f"x{ending[1:]}", "") is None
    for whole in ("Makefile", "Dockerfile", "Containerfile.gpu", ".env.local"):
        assert file_kind(whole, "") in KINDS


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("#!/bin/bash -l", "shell"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/tclsh", "shell"),
        ("FROM x", None),
    ],
)
def test_a_name_that_tells_nothing_leaves_it_to_the_first_line(first: str, kind: str | None) -> None:
    assert file_kind("job", f"{first}\nx\n") == kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_for_any_variable(kind: str) -> None:
    """And finds none in a file that sets none."""
    nothing = {"notebook": '{"cells": []}', "text": "x"}.get(kind, "")
    assert list(sites_of(nothing, kind, "NCCL_ALGO")) == []


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("whole", [True, False])
def test_a_place_in_a_notebook_is_a_cell_of_code_and_a_line_in_it(whole: bool, indent: int | None) -> None:
    """However it is written; what is in none is a line of the file, as in files of other kinds."""
    cells = [("code", 'x\n"é\n'), ("markdown", "# T"), ("code", ""), ("code", "\n\nhere")]
    sources = [(kind, source if whole else source.splitlines(True)) for kind, source in cells]
    notebook = {"cells": [{"cell_type": kind, "source": source} for kind, source in sources]}
    text = json.dumps(notebook, indent=indent)
    assert str(place_of(text, "notebook", text.index("here"))) == "cell 3, line 3"
    assert place_of(text, "notebook", text.index("\\u00e9")).of("a.ipynb") == "a.ipynb: cell 1, line 2"
    assert place_of(text, "notebook", text.index("# T")) == place_of(text, "json", text.index("# T"))
    assert place_of("a\nb", "python", 2).of("a.py") == "a.py:2"
