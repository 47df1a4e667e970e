"""XLA_FLAGS in the cells of a notebook."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.files.notebook_cells import code_spans, notebook_sites
from jaxgpu_tune.planning.files.rewrite import rewrite
from tests.planning.files.flags_in_files import FLAGS, expected, migrate, rewritten

FLAG = "--xla_a=1"


@settings(max_examples=25, deadline=None)
@given(flags=FLAGS, whole=st.booleans(), ascii_only=st.booleans())
def test_notebooks_stay_notebooks(flags: list[str], whole: bool, ascii_only: bool) -> None:
    """JSON around Python; nothing but the flags changes."""
    lines = ["# a\n", "import os\n", f"os.environ['XLA_FLAGS'] = {' '.join(flags)!r}\n", "%time 'é😀'"]
    cell = {
        "cell_type": "code",
        "source": "".join(lines) if whole else lines,
        "outputs": [{"text": "--xla_gpu_graph_level=0"}],
    }
    new = json.loads(rewritten(json.dumps({"cells": [cell]}, indent=1, ensure_ascii=ascii_only), "notebook"))
    source = "".join(new["cells"][0]["source"])
    assert ast.literal_eval(source.split("\n")[2].split(" = ")[1]).split() == expected(flags)
    assert source.split("\n")[3] == lines[3] and new["cells"][0]["outputs"] == cell["outputs"]


def cells(*sources: str) -> str:
    """A notebook of cells of code."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source.splitlines(True)} for source in sources]})


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (f"%env XLA_FLAGS={FLAG}\nx = 1", FLAG),
        (f"%set_env XLA_FLAGS {FLAG}", FLAG),
        (f"x = 1\n!XLA_FLAGS='{FLAG}' python train.py", FLAG),
        (f"%%bash\nexport XLA_FLAGS={FLAG}", FLAG),
        (f"import os\n%matplotlib inline\nos.environ['XLA_FLAGS'] = '{FLAG}'", FLAG),
    ],
)
def test_every_way_to_set_it_in_a_cell(source: str, value: str) -> None:
    """Magics are no Python, and the rest of the cell is read all the same; its place is that of the file."""
    text = cells("x = 1", source)
    (site,) = notebook_sites(text)
    (piece,) = [one for one in site.pieces if one.text]
    assert piece.text == value and not site.unsure
    assert "".join(text[start:end] for start, end in piece.spans) == value


def test_a_cell_that_is_no_python_is_unsure_where_it_speaks_of_the_variable() -> None:
    """Another one is no matter."""
    sites = list(notebook_sites(cells("x = = 1", "XLA_FLAGS = = 1")))
    assert [site.unsure for site in sites] == ["the cell cannot be read as Python"]


@pytest.mark.parametrize(("kind", "count"), [("code", 1), ("markdown", 0), ("raw", 0)])
@pytest.mark.parametrize("source", ["it's `XLA_FLAGS=--a`", ["so\n", "it's XLA_FLAGS=--a"]])
def test_a_cell_of_prose_sets_nothing(kind: str, count: int, source: object) -> None:
    """Only what runs is read."""
    text = json.dumps({"cells": [{"cell_type": kind, "source": source}]})
    assert len(list(notebook_sites(text))) == count


def test_the_same_text_in_prose_and_in_code_counts_in_code() -> None:
    source = f"%env XLA_FLAGS={FLAG}"
    told = [{"cell_type": kind, "source": source, "metadata": {"source": source}} for kind in ("markdown", "code")]
    text = json.dumps({"metadata": {"source": [source]}, "cells": told})
    (site,) = notebook_sites(text)
    ((start, end),) = code_spans(text)
    assert start < site.at < end and text[start:end] == json.dumps(source) and text.rindex(source, 0, end) == start + 1


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_an_old_flag_in_prose_or_in_an_output_is_no_matter(kind: str) -> None:
    """Neither may run; the same in code is told."""
    old = "so: --xla_gpu_graph_level=0"
    prose = {"cell_type": kind, "source": [old]}
    code = {"cell_type": "code", "source": "x = 1", "outputs": [{"text": [old]}]}
    mine = {"cell_type": "code", "source": ["x = 1\n", f"y = '{old}'"]}
    assert rewrite(json.dumps({"cells": [prose, code]}), "notebook", migrate).left == ()
    assert len(rewrite(json.dumps({"cells": [prose, code, mine]}), "notebook", migrate).left) == 1


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"cells": {}}', '{"cells": [1, {"source": 2}, {"cell_type": "code"}]}', " [ ] "]
)
def test_a_notebook_without_cells_sets_nothing(text: str) -> None:
    assert list(notebook_sites(text)) == [] and not any(end - start > 1 for start, end in code_spans(text))


@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_a_notebook_of_format_3_is_read_too(kind: str) -> None:
    """Its cells lie in worksheets, and the source is called input."""
    sheets = [{"cells": [{"cell_type": kind, "input": [f"%env XLA_FLAGS={FLAG}"], "outputs": []}]}] * 2
    assert len(list(notebook_sites(json.dumps({"nbformat": 3, "worksheets": sheets})))) == (2 if kind == "code" else 0)


def test_what_is_no_notebook_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        list(notebook_sites("{"))
