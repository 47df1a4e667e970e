"""What the nodes of a program name, and in which order they run."""

from __future__ import annotations

import ast

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.planning.files.file_faults import file_faults
from jaxgpu_tune.planning.files.python_nodes import imported_names, line_begins, parsed, way_over, what_runs


def test_names_are_told_in_full() -> None:
    tree = ast.parse("import os.path, jax.numpy as jnp\ndef f():\n    from jax import random as r\nfrom . import x\n")
    assert dict(imported_names(tree)) == {"os": "os", "jnp": "jax.numpy", "r": "jax.random"}


def test_lines_begin_where_python_counts_them() -> None:
    text = "é = 1\r\nb = 2\rc = (\n)\n\nd = 4\x0c"
    begins = line_begins(text)
    assert [text[begins[node.lineno - 1]] for node in ast.parse(text).body] == ["é", "b", "c", "d"]
    assert line_begins("") == (0,)


def test_a_program_is_read_once_and_stays_as_it_is() -> None:
    source = "import os, jax\nos.environ['XLA_FLAGS'] += '--xla_a=1'\njax.config.update('jax_enable_x64', True)\n"
    assert file_faults(source, "python", checker("0.11.2"), migrator("0.11.2"))
    assert ast.dump(parsed(source)) == ast.dump(ast.parse(source)) and parsed(source) is parsed(source)


def test_what_is_inside_comes_first_and_what_runs_later_not_at_all() -> None:
    (statement,) = ast.parse("x = f(g(), lambda: h(), [i() for _ in y], (j() for _ in y))").body
    called = [ast.unparse(node.func) for node in what_runs(statement) if isinstance(node, ast.Call)]
    assert called == ["g", "i", "f"]


def test_only_a_text_that_is_known_takes_the_place_of_all() -> None:
    values = {"'a' + 'b'": "over", "f'a'": "over", "old + 'a'": "", "text()": ""}
    assert {text: way_over(ast.parse(text, mode="eval").body) for text in values} == values
