"""The variables that a file sets: place, value, and which are set together."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.planning.files.variables_set import variables_set


def held(text: str, kind: str = "shell") -> list[tuple[str, str | None]]:
    """(name, value) of each."""
    return [(one.name, one.value) for one in variables_set(text, kind)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NCCL_ALGO=Ring,Tree", "Ring,Tree"),
        ("srun --export=NCCL_ALGO=Ring,Tree,A=1 x", "Ring,Tree"),
        ("srun --export=NCCL_ALGO=Ring,ALL x", "Ring"),
        ("NCCL_ALGO='Ring,A=1'", "Ring,A=1"),
        ('NCCL_ALGO="allreduce:tree;broadcast:ring" x', "allreduce:tree;broadcast:ring"),
        ("bash -c 'NCCL_ALGO=Ring'", "Ring"),
        ("bash -c \"NCCL_ALGO='Ring' x\"", "Ring"),
        ("c=\"x --args '--nv --env NCCL_ALGO=Ring' -j 2\"", "Ring"),
        ("c='x --args \"--nv --env NCCL_ALGO=Ring\" -j 2'", "Ring"),
        ("NCCL_ALGO=$A", None),
        ("NCCL_ALGO+=,Tree", None),
    ],
)
def test_where_a_value_ends(text: str, value: str | None) -> None:
    """At a blank or the end of its quotes; a comma belongs to it unless another variable follows."""
    assert held(text) == [("NCCL_ALGO", value)]


def test_they_come_in_the_order_of_the_file_without_xla_flags() -> None:
    text = "NCCL_PROTO=LL\nXLA_FLAGS=--a\nMY_OWN=1\nJAX_PLATFORMS=cuda\nNCCL_PROTO=LL128\n"
    assert held(text) == [("NCCL_PROTO", "LL"), ("JAX_PLATFORMS", "cuda"), ("NCCL_PROTO", "LL128")]
    assert [text[one.at :].startswith(one.name) for one in variables_set(text, "shell")] == [True] * 3


@given(st.text(alphabet="ABXLA_=$\"'\\ \n#{}-,NC", max_size=60))
def test_no_text_is_too_broken_for_a_shell(text: str) -> None:
    """Whatever is read stands there."""
    for kind in ("shell", "dockerfile", "makefile", "dotenv", "yaml", "text"):
        for one in variables_set(f"{text}\nNCCL_ALGO=Ring\n{text}", kind):
            assert one.name in text + "NCCL_ALGO"


def test_lists_and_maps_of_a_file_are_parts_of_their_own() -> None:
    text = "a:\n  NCCL_ALGO: Ring\n  NCCL_PROTO: LL\nb:\n- NCCL_ALGO=Tree\n- NCCL_PROTO=LL\n"
    parts = [one.part for one in variables_set(text, "yaml")]
    assert parts[0] == parts[1] != parts[2] == parts[3]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("jax.config.update('jax_debug_nans', True)", "True"),
        ('config.update(\n  "jax_debug_nans", False)', "False"),
        ("jax.config.jax_debug_nans = True", "True"),
        ("jax.config.update('jax_debug_nans', mine)", None),
    ],
)
def test_options_that_python_sets(line: str, value: str | None) -> None:
    """By the name of the option's variable, of which the same is known."""
    assert held(line, "python") == [("JAX_DEBUG_NANS", value)]
    cell = {"cell_type": "code", "source": line}
    assert held(json.dumps({"cells": [cell]}), "notebook") == [("JAX_DEBUG_NANS", value)]
    assert held("jax.config.update('jax_debug_nans', None)\nif jax.config.jax_debug_nans == 1: pass", "python") == []


def test_what_is_set_for_one_command_is_a_part_of_its_own() -> None:
    text = "export NCCL_ALGO=Ring\nNCCL_PROTO=LL python a.py\nenv NCCL_PROTO=LL NCCL_ALGO=Tree python b.py\n"
    first, second, *third = (one.part for one in variables_set(text, "shell"))
    assert first == 0 > second and third[0] == third[1] not in (first, second)
