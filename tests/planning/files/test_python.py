"""XLA_FLAGS in Python: what is assigned, in every kind of quotes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings

from tests.planning.files.flags_in_files import FLAGS, expected, rewritten


@pytest.mark.parametrize("mark", ["'", '"', "'''", '"""', "f'", 'f"', "join"])
@settings(max_examples=25, deadline=None)
@given(flags=FLAGS)
def test_python_reads_what_was_meant(mark: str, flags: list[str]) -> None:
    """In every kind of quotes, one literal or one a flag; Python itself reads it back."""
    said = " ".join(flags)
    quote = mark.removeprefix("f")
    literal = said.replace("\\", "\\\\").replace(quote[0], f"\\{quote[0]}")
    value = f"{mark}{literal}{quote}" if mark != "join" else f"' '.join({flags!r})"
    source = f"import os\nos.environ['XLA_FLAGS'] = {value}  # stays\n"
    new = rewritten(source, "python")
    assign = ast.parse(new).body[1]
    assert isinstance(assign, ast.Assign) and new.endswith("  # stays\n")
    assert str(eval(ast.unparse(assign.value))).split() == expected(flags)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\r\n", "\n", "\r"])
def test_python_of_other_systems(ending: str, mark: str) -> None:
    """Python reads each end of a line, and skips a byte order mark."""
    text = mark + ending.join(["import os", "# a", 'os.environ["XLA_FLAGS"] = "--xla_gpu_graph_level=0"', ""])
    assert rewritten(text, "python") == text.replace("--xla_gpu_graph_level=0", "--xla_gpu_enable_command_buffer=")
