"""The names of a program in full, and what sets the environment by them."""

from __future__ import annotations

import ast

import pytest

from jaxgpu_tune.planning.files.python_names import Names

HEAD = "import os, jax.numpy as jnp, six, chex\nfrom os import environ as env, putenv\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("os.environ['A'] = '1'", [("A", "")]),
        ("env['A'] = os.environ['B'] = '1'", [("A", ""), ("B", "")]),
        ("environ['A'] += '1'", [("A", "adds")]),
        ("os.environ.update({'A': '1', **more}, B='2')", [("B", ""), ("A", "")]),
        ("env.setdefault('A', '1')", [("A", "unless")]),
        ("os.environ |= {'A': '1', **more}", [("A", "")]),
        ("putenv('A', '1')", [("A", "")]),
        ("os.environ.__setitem__('A', '1')", [("A", "")]),
        ("six.numpyro.set_host_device_count(4)", []),
        ("chex.set_n_cpu_devices(4)", [("XLA_FLAGS", "adds")]),
        ("other |= {'A': '1'}", []),
        ("six.environ['A'] = '1'", []),
        ("self.environ.update(A='1')", []),
        ("os.environ.get('A', '1')", []),
        ("{}.setdefault('A', '1')", []),
        ("A = '1'", []),
    ],
)
def test_every_form_that_sets_a_variable(text: str, told: list[tuple[str, str]]) -> None:
    """Other maps are not the environment, whatever they are called."""
    tree = ast.parse(HEAD + text)
    node = tree.body[-1].value if isinstance(tree.body[-1], ast.Expr) else tree.body[-1]
    assert [(one.name, one.way) for one in Names(tree).in_environ(node)] == told


@pytest.mark.parametrize("own", ["environ = dict(os.environ)", "def child(environ): pass"])
def test_a_map_of_the_program_is_not_the_environment(own: str) -> None:
    """Such as a child's, whatever it is called."""
    tree = ast.parse(f"import os\n{own}\nenviron['A'] = '1'")
    assert list(Names(tree).in_environ(tree.body[-1])) == []


def test_a_name_in_full_is_one_that_is_imported() -> None:
    names = Names(ast.parse(HEAD))
    full = {"jnp.ones": "jax.numpy.ones", "os.a.b": "os.a.b", "print": "", "x.jnp": "", "f().jnp": ""}
    assert {text: names.full(ast.parse(text, mode="eval").body) for text in full} == full
